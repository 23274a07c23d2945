"""Why a job has not run, or why it failed: one reason, in plain words, and what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import Any, Final
from uuid import UUID

from leasehold.errors import NotFound
from leasehold.operate.ask import Ask
from leasehold.operate.timeline import Timeline, timeline
from leasehold.store import reads

AHEAD: Final = 10_000  # jobs in the line are counted up to here
BLOCKED: Final = 5.0  # seconds without a turn of a runner's loop
LEASE_SHORT: Final = 10.0  # seconds: a healthy heartbeat keeps a lease well above
SILENT: Final = 15.0  # seconds without a tick of a leader
LATE: Final = 5.0  # seconds a due job may wait for the leader before it is worth a word


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """`code` is for programs and stays; `text` and `next` are for people."""

    job: UUID
    state: str
    code: str
    text: str
    next: str | None = None


def explain(ask: Ask, job: UUID) -> Reason:
    told = timeline(ask, job)
    waits = told.state in ("ready", "scheduled", "waiting", "dispatched")
    if not waits:
        return reason(told, {})
    around = ask(reads.prospects(told.queue, told.job.task, job, AHEAD))
    return reason(told, around)


def reason(told: Timeline, around: Mapping[str, Any]) -> Reason:
    """Pure: the same facts give the same answer."""
    code, text, then = _reason(told, around)
    return Reason(job=told.job.id, state=told.state, code=code, text=text, next=then)


Answer = tuple[str, str, str | None]


def _reason(  # noqa: C901, PLR0911 - one answer for each state
    told: Timeline, around: Mapping[str, Any]
) -> Answer:
    match told.state:
        case "duplicate":
            twin = told.job.duplicate_of
            text = f"it never runs: when it came, the live job {twin} had its key {told.job.key!r}"
            return "duplicate", text, f"leasehold explain {twin}"
        case "waiting":
            return _waiting(told)
        case "scheduled":
            return _scheduled(told, around)
        case "ready":
            return _ready(told, around)
        case "dispatched":
            return _dispatched(told)
        case "assigned" | "running":
            return _held(told)
        case "failed":
            return _failed(told)
        case "succeeded":
            return _succeeded(told)
        case "cancelled":
            return "cancelled", f"it was cancelled: {_message(told)}", _again(told)
        case "expired":
            ran = told.last is not None and told.last.claimed_at is not None
            how = "while it ran" if ran else "before it could run"
            text = f"its deadline ({_time(told.job.deadline)}) passed {how}"
            return "expired", text, _again(told)
        case _:
            text = (
                "it sits in no room and has no end: it came in past the trigger, or its history "
                "was changed by hand"
            )
            return "stray", text, "leasehold doctor"


def _waiting(told: Timeline) -> Answer:
    room = told.room
    if room is None:
        raise NotFound(told.job.id)
    since = f" since {_time(room.since)}" if room.since else ""
    if room.reason == "held":
        deed = next((d for d in reversed(told.audit) if d.verb == "hold"), None)
        who = f"by {deed.actor}" if deed else "at its enqueue"
        why = f": {room.note}" if room.note else ""
        return "held", f"it is held{since}, {who}{why}", f"leasehold resume {told.job.id}"
    if room.reason == "parents":
        many = "1 job" if room.remaining == 1 else f"{room.remaining} jobs"
        return "parents", f"it waits{since} for {many} to end first", None
    return "waiting", f"it waits{since} for {room.reason}", None


def _scheduled(told: Timeline, around: Mapping[str, Any]) -> Answer:
    room = told.room
    if room is None or room.due is None:
        raise NotFound(told.job.id)
    left = (room.due - told.now).total_seconds()
    if left < -LATE:
        if not around["workers"]:
            return _nobody(told, f"its time came {_span(-left)} ago")
        text = (
            f"its time came {_span(-left)} ago, but no leader moves due jobs on (its last tick: "
            f"{_span(around['leader_age'])} ago)"
        )
        if around["leader_age"] > SILENT:
            return "no_leader", text, "leasehold doctor"
        return "due", f"its time came {_span(-left)} ago: it moves with the next batch", None
    again = told.last if told.last and told.last.outcome == "retried" else None
    if around["workers"] and not around["able"] and not around["knowing"]:
        text = (
            f"no live worker knows the task {told.job.task!r}; it is looked at again in "
            f"{_span(left)}"
        )
        return "unknown_task", text, "start a worker whose code has the task, or correct its name"
    if again:
        text = (
            f"run {room.attempts} failed with {_error(told)}; it is tried again in {_span(left)} "
            f"({_time(room.due)}){_attempts_left(told)}"
        )
        return "retrying", text, f"leasehold show {told.job.id} --trace"
    text = f"it is scheduled for {_time(room.due)}, in {_span(left)}"
    return "scheduled", text, None


def _ready(told: Timeline, around: Mapping[str, Any]) -> Answer:
    if not around["workers"]:
        return _nobody(told, "it may run now")
    if not around["serving"]:
        served = ", ".join(map(repr, around["queues"])) or "none"
        text = f"no live worker serves its queue {told.queue!r}; the queues served are {served}"
        return "queue_unserved", text, f"leasehold worker module:app --queue {quote(told.queue)}"
    if not around["able"]:
        where = ", though workers of other queues do" if around["knowing"] else ""
        text = f"no live worker of its queue {told.queue!r} knows the task {told.job.task!r}{where}"
        return "unknown_task", text, "start a worker whose code has the task, or correct its name"
    if ahead := around["ahead"]:
        many = f"more than {AHEAD}" if ahead > AHEAD else str(ahead)
        jobs = "job is" if ahead == 1 else "jobs are"
        text = (
            f"{many} {jobs} ahead of it in queue {told.queue!r}; {around['running']} run there now"
        )
        return "behind_others", text, "leasehold status"
    text = (
        f"it is the first in queue {told.queue!r}: it runs as soon as one of {around['able']} "
        "workers has room for it"
    )
    return "next", text, "leasehold status"


def _nobody(told: Timeline, what: str) -> Answer:
    text = f"{what}, but no worker is alive"
    return "no_worker", text, f"leasehold worker module:app  # one with the task {told.job.task!r}"


def _dispatched(told: Timeline) -> Answer:
    room = told.room
    if room is None:
        raise NotFound(told.job.id)
    text = f"it was handed to {room.reason} and nobody has taken it yet"
    if room.returns_at:
        text += f"; not taken by {_time(room.returns_at)} it comes back"
    return "dispatched", text, None


def _held(told: Timeline) -> Answer:  # noqa: PLR0911 - the first reason that applies
    holder = told.holder
    if holder is None:
        raise NotFound(told.job.id)
    who = f"runner {holder.runner}" + (
        f" on {holder.host} (pid {holder.pid})" if holder.host else ""
    )
    since = _span((told.now - holder.claimed_at).total_seconds())
    if holder.dead or holder.lease_left is None:
        return (
            "runner_lost",
            f"{who} had it and is lost: the leader takes it back",
            "leasehold doctor",
        )
    if holder.lease_left <= 0:
        text = (
            f"{who} has it, but its lease ended {_span(-holder.lease_left)} ago: the leader takes "
            "it back"
        )
        return "lease_over", text, "leasehold doctor"
    if told.wish:
        asked = _span((told.now - told.wish.requested_at).total_seconds())
        text = (
            f"it runs on {who} for {since}; it was told to stop {asked} ago and has not stopped yet"
        )
        return "stopping", text, None
    if (holder.loop_age or 0) > BLOCKED:
        text = (
            f"{who} has it for {since}, and its event loop has not turned for "
            f"{_span(holder.loop_age or 0)}: something blocks it"
        )
        return "loop_blocked", text, "the worker's log names the code that blocks"
    if holder.lease_left < LEASE_SHORT:
        text = (
            f"{who} has it for {since}, but has not been heard of for a while: its lease ends "
            f"in {_span(holder.lease_left)}"
        )
        return "lease_short", text, "leasehold status"
    if not holder.begun:
        return (
            "assigned",
            f"{who} took it {since} ago and begins when one of its places is free",
            None,
        )
    at = told.checkpoint.progress if told.checkpoint else None
    note = f" ({told.checkpoint.note})" if told.checkpoint and told.checkpoint.note else ""
    progress = f", at {at:g} %{note}" if at is not None else ""
    return "running", f"it runs on {who} for {since}{progress}", f"leasehold cancel {told.job.id}"


def _failed(told: Timeline) -> Answer:
    retry = f"leasehold retry {told.job.id}"
    if told.dead and told.dead.reason == "poison":
        text = (
            f"its runner was lost {told.dead.interrupted} times while it ran, so it is kept from "
            f"running again: it may crash the process or use up its memory. Last: {_error(told)}"
        )
        return "poison", text, f"run its function alone with this payload, then: {retry}"
    runs = told.dead.attempts if told.dead else sum(a.claimed_at is not None for a in told.attempts)
    times = "its only run" if runs == 1 else f"run {runs}, the last that it had,"
    gone = "" if told.dead else "; it was discarded from the dead letter"
    return (
        "failed",
        f"{times} failed with {_error(told)}{gone}",
        f"leasehold show {told.job.id} --trace  # then: {retry}",
    )


def _succeeded(told: Timeline) -> Answer:
    last = told.last
    when = _time(last.ended_at) if last else "some time ago"
    took = f" after {last.run_ms} ms" if last and last.run_ms is not None else ""
    return "succeeded", f"it has run: it succeeded at {when}{took}", f"leasehold show {told.job.id}"


def _again(told: Timeline) -> str:
    return f"leasehold retry {told.job.id}"


def _attempts_left(told: Timeline) -> str:
    most = told.job.max_attempts
    return (
        f", {most - told.room.attempts} of {most} attempts are left" if most and told.room else ""
    )


def _error(told: Timeline) -> str:
    error = next(
        (a.error for a in reversed(told.attempts) if a.error and a.outcome != "reopened"), None
    )
    if not error:
        return "an error that nobody wrote down"
    message = str(error.get("message", "")).strip().partition("\n")[0]
    return f"{error.get('type', 'unknown')}: {message}" if message else str(error.get("type"))


def _message(told: Timeline) -> str:
    last = told.last
    return str((last.error or {}).get("message", "")) if last else ""


def _time(moment: datetime | None) -> str:
    return moment.isoformat(" ", "seconds") if moment else "some time"


def _span(seconds: float) -> str:
    """A length of time as a person says it."""
    if seconds >= 1e9 - 1:
        return "for ever"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
