"""`leasehold show JOB`: everything there is to know of one job, from its enqueue to now."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
from cyclopts import Parameter

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.cli.options import Database, Json
from leasehold.cli.times import clock, span
from leasehold.operate import find
from leasehold.operate.timeline import Timeline, events, timeline


def show(
    job: Annotated[str, Parameter(help="its id, the caller's own name for it, or its key")],
    /,
    *,
    trace: Annotated[bool, Parameter(negative="", help="with the traces of its errors")] = False,
    payload: Annotated[bool, Parameter(negative="", help="with its arguments")] = False,
    json: Json = False,
    database: Database = None,
) -> int:
    """Shows a job's whole story: enqueue, runs, errors, who did what, and where it is now."""
    with house.asking(database) as ask:
        told = timeline(ask, find.one(ask, job).id)
    if json:
        screen.document(told)
        return 0
    _head(told)
    if payload:
        screen.say("payload", "bold")
        screen.block(
            msgspec.json.format(msgspec.json.encode(told.payload), indent=2).decode(), "  ", ""
        )
    screen.say("story", "bold")
    for event in events(told):
        screen.words(
            (f"  {clock(event.at, told.now)}  ", "dim"),
            (event.what.ljust(14), screen.STYLES.get(event.what, "")),
            " ",
            event.said,
        )
        if event.error:
            message = str(event.error.get("message", ""))
            screen.words(
                "            ",
                (str(event.error.get("type", "unknown")), "red"),
                f": {message.partition(chr(10))[0]}",
            )
            if trace and event.error.get("trace"):
                screen.block(str(event.error["trace"]), " " * 12)
    _now(told)
    return 0


def _head(told: Timeline) -> None:
    job = told.job
    screen.words((str(job.id), "bold"), "  ", screen.state(told.state))
    rows = [
        ("task", job.task), ("queue", told.queue), ("priority", str(job.priority)),
        ("id", job.name), ("key", job.key),
        ("tenant", job.tenant), ("group", job.group), ("tags", ", ".join(job.tags or ())),
        ("deadline", clock(job.deadline) if job.deadline else None),
        ("timeout", span(job.timeout) if job.timeout else None),
        ("attempts", f"at most {job.max_attempts}" if job.max_attempts else None),
        ("duplicate of", str(job.duplicate_of) if job.duplicate_of else None),
        ("moves", str(told.moves) if told.moves else None),
        ("taken back", f"{told.interrupted} times" if told.interrupted else None),
    ]  # fmt: skip
    for name, value in rows:
        if value:
            screen.words((f"  {name.ljust(13)}", "dim"), value)


def _now(told: Timeline) -> None:
    lines = [line for part in (_room, _holder, _outcome) for line in part(told)]
    if lines:
        screen.say("now", "bold")
        for line in lines:
            screen.say(f"  {line}")


def _room(told: Timeline) -> Iterator[str]:
    room = told.room
    if room is None:
        return
    reason = f", for {room.reason}" if room.reason else ""
    note = f": {room.note}" if room.note else ""
    yield f"in {room.name}{reason}{note}"
    if room.due and room.name == "scheduled":
        left = span((room.due - told.now).total_seconds())
        yield f"may run at {clock(room.due, told.now)}, in {left}"


def _holder(told: Timeline) -> Iterator[str]:
    holder = told.holder
    if holder is None:
        return
    place = f"of worker {holder.worker} on {holder.host} (pid {holder.pid})"
    begun = "begun" if holder.begun else "not begun"
    yield f"held by runner {holder.runner} {place}, claim {holder.claim_no}, {begun}"
    if holder.lease_left is not None and holder.beat_age is not None:
        beat = span(holder.beat_age)
        yield f"lease ends in {span(holder.lease_left)}, last heartbeat {beat} ago"


def _outcome(told: Timeline) -> Iterator[str]:
    kept = told.checkpoint
    if kept and kept.progress is not None and told.state != "succeeded":
        note = f", {kept.note}" if kept.note else ""
        yield f"progress {kept.progress:g} %{note}"
    if told.dead:
        since = clock(told.dead.died_at, told.now)
        yield f"in the dead letter since {since}: {told.dead.reason}"
    if told.state == "succeeded" and told.last and told.last.result is not None:
        yield "result " + msgspec.json.encode(told.last.result).decode()[:500]
