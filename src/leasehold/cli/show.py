"""`leasehold show JOB`: everything there is to know of one job, from its enqueue to now."""

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
    """Shows a job's whole story: enqueue, runs, errors, moves, who did what, and where it is now."""
    with house.asking(database) as ask:
        told = timeline(ask, find.one(ask, job).id)
    if json:
        screen.document(told)
        return 0
    _head(told)
    if payload:
        screen.say("payload", "bold")
        screen.block(msgspec.json.format(msgspec.json.encode(told.payload), indent=2).decode(), "  ", "")
    screen.say("story", "bold")
    for event in events(told):
        screen.words(
            (f"  {clock(event.at, told.now)}  ", "dim"), (event.what.ljust(14), screen.STYLES.get(event.what, "")), " ", event.said
        )
        if event.error and event.what != "reopened":
            message = str(event.error.get("message", ""))
            screen.words("            ", (str(event.error.get("type", "unknown")), "red"), f": {message.partition(chr(10))[0]}")
            if trace and event.error.get("trace"):
                screen.block(str(event.error["trace"]), " " * 12)
    _now(told)
    return 0


def _head(told: Timeline) -> None:
    job = told.job
    screen.words((str(job.id), "bold"), "  ", screen.state(told.state))
    rows = [
        ("task", job.task), ("queue", told.queue), ("priority", str(job.priority)), ("id", job.name), ("key", job.key),
        ("tenant", job.tenant), ("group", job.group), ("tags", ", ".join(job.tags or ())),
        ("deadline", clock(job.deadline) if job.deadline else None), ("timeout", span(job.timeout) if job.timeout else None),
        ("attempts", f"at most {job.max_attempts}" if job.max_attempts else None),
        ("duplicate of", str(job.duplicate_of) if job.duplicate_of else None),
        ("moves", f"{told.moves}, taken back {told.interrupted} times" if told.moves else None),
    ]  # fmt: skip
    for name, value in rows:
        if value:
            screen.words((f"  {name.ljust(13)}", "dim"), value)


def _now(told: Timeline) -> None:
    lines: list[str] = []
    if told.room:
        room = told.room
        lines.append(f"in {room.name}" + (f", for {room.reason}" if room.reason else "") + (f": {room.note}" if room.note else ""))
        if room.due and room.name == "scheduled":
            lines.append(f"may run at {clock(room.due, told.now)}, in {span((room.due - told.now).total_seconds())}")
    if told.holder:
        h = told.holder
        lines.append(f"held by runner {h.runner} of worker {h.worker} on {h.host} (pid {h.pid}), claim {h.claim_no}, {'begun' if h.begun else 'not begun'}")
        if h.lease_left is not None and h.beat_age is not None:
            lines.append(f"lease ends in {span(h.lease_left)}, last heartbeat {span(h.beat_age)} ago")
    if told.checkpoint and told.checkpoint.progress is not None and told.state != "succeeded":
        note = f", {told.checkpoint.note}" if told.checkpoint.note else ""
        lines.append(f"progress {told.checkpoint.progress:g} %{note}")
    if told.dead:
        lines.append(f"in the dead letter since {clock(told.dead.died_at, told.now)}: {told.dead.reason}")
    if told.state == "succeeded" and told.last and told.last.result is not None:
        lines.append("result " + msgspec.json.encode(told.last.result).decode()[:500])
    if lines:
        screen.say("now", "bold")
        for line in lines:
            screen.say(f"  {line}")
