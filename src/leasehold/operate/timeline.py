"""One job from its enqueue to now: what was asked, every run, what people did, where it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec

from leasehold.errors import NotFound
from leasehold.operate.ask import Ask
from leasehold.store import reads

REOPENED: Final = "Retry"  # the type of the line that `retry` writes into a job's history


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked, as it was written."""

    id: UUID
    enqueued_at: datetime
    queue: str
    task: str
    priority: int
    run_at: datetime | None
    delay: Any
    deadline: datetime | None
    timeout: float | None
    max_attempts: int | None
    name: str | None
    key: str | None
    tenant: str | None
    group: str | None
    tags: tuple[str, ...] | None
    headers: dict[str, Any] | None
    hold: str | None
    duplicate_of: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where it waits. `due` is when it may go on, or its place in the line of the ready ones."""

    name: str
    queue: str
    priority: int
    due: datetime | None
    moves: int
    attempts: int
    interrupted: int
    reason: str | None
    note: str | None
    remaining: int
    since: datetime | None
    returns_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The runner that has it, and what its lease says."""

    runner: int
    bundle: int
    claim_no: int
    claimed_at: datetime
    begun: bool
    queue: str
    moves: int
    attempts: int
    interrupted: int
    worker: int | None
    host: str | None
    pid: int | None
    lease_left: float | None
    dead: bool | None
    loop_age: float | None
    beat_age: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One claim number that is over."""

    claim_no: int
    claimed_at: datetime | None
    ended_at: datetime
    runner: int | None
    host: str | None
    run_ms: int | None
    outcome: str
    error: dict[str, Any] | None
    result: Any
    note: str | None = None  # who reopened the job, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    updated_at: datetime
    progress: float | None
    note: str | None
    state: Any
    metadata: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Somebody wants the run to stop."""

    requested_at: datetime
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """Its copy in the dead letter."""

    died_at: datetime
    reason: str
    moves: int
    attempts: int
    interrupted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What a person did, by the audit."""

    at: datetime
    verb: str
    actor: str
    role: str
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    now: datetime
    job: Asked
    payload: dict[str, Any]
    state: str
    room: Room | None
    holder: Holder | None
    attempts: tuple[Attempt, ...]
    checkpoint: Checkpoint | None
    wish: Wish | None
    dead: Death | None
    audit: tuple[Deed, ...]

    @property
    def queue(self) -> str:
        place = self.room or self.holder
        return place.queue if place else self.job.queue

    @property
    def last(self) -> Attempt | None:
        """The newest line of history that says how the job ended or what went wrong."""
        return next((a for a in reversed(self.attempts) if a.outcome != "reopened"), None)

    @property
    def moves(self) -> int:
        place = self.room or self.holder or self.dead
        return place.moves if place else len(self.attempts)

    @property
    def interrupted(self) -> int:
        place = self.room or self.holder or self.dead
        if place:
            return place.interrupted
        return sum(a.outcome in ("interrupted", "poisoned") for a in self.attempts)


def timeline(ask: Ask, job: UUID) -> Timeline:
    document = ask(reads.timeline(job))
    if document is None:
        raise NotFound(job)
    document["attempts"] = [_told(attempt) for attempt in document["attempts"]]
    return msgspec.convert(document, Timeline)


def _told(attempt: dict[str, Any]) -> dict[str, Any]:
    """That a job was reopened is stored where errors are, and is none."""
    error = attempt["error"]
    if not error or error.get("type") != REOPENED:
        return attempt
    return {**attempt, "error": None, "note": error.get("message")}


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the story: when, what, and what more there is to say."""

    at: datetime
    what: str
    said: str
    error: dict[str, Any] | None = None


def events(told: Timeline) -> list[Event]:
    """The story in the order of time, without what is true now."""
    return sorted(_events(told), key=lambda event: event.at)


def _events(told: Timeline) -> Iterator[Event]:
    job = told.job
    later = f", to run {job.run_at.isoformat(' ', 'seconds')}" if job.run_at else ""
    held = f", held: {job.hold}" if job.hold is not None else ""
    yield Event(
        job.enqueued_at, "enqueued", f"to {job.queue}, priority {job.priority}{later}{held}"
    )
    number = 0
    for attempt in told.attempts:
        if attempt.outcome == "reopened":
            yield Event(attempt.ended_at, "reopened", attempt.note or "")
            continue
        where = f"runner {attempt.runner}" if attempt.runner is not None else ""
        where += f" on {attempt.host}" if attempt.host else ""
        if attempt.claimed_at is not None:
            number += 1
            yield Event(attempt.claimed_at, f"run {number} claimed", f"by {where}" if where else "")
        took = _took(attempt)
        yield Event(attempt.ended_at, attempt.outcome, took, attempt.error)
    for deed in told.audit:
        if deed.verb != "retry":  # its line of history says so already
            note = f": {deed.note}" if deed.note else ""
            # The audit has what was asked, also where it was refused.
            yield Event(deed.at, f"{deed.verb} asked", f"by {deed.actor}{note}")
    if told.wish:
        yield Event(told.wish.requested_at, "told to stop", told.wish.reason or "")
    if told.holder:
        where = f"by runner {told.holder.runner}" + (
            f" on {told.holder.host}" if told.holder.host else ""
        )
        yield Event(told.holder.claimed_at, f"run {number + 1} claimed", where)


def _took(attempt: Attempt) -> str:
    if attempt.run_ms is not None:
        return f"after {attempt.run_ms} ms"
    if attempt.claimed_at is not None and attempt.ended_at - attempt.claimed_at > timedelta(0):
        return f"after {(attempt.ended_at - attempt.claimed_at).total_seconds():.1f} s"
    return ""
