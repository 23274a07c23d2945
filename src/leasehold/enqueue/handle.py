"""A job seen from where it was enqueued: how it stands, what came of it, please stop."""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import msgspec

from leasehold.errors import (
    JobCancelled,
    JobExpired,
    JobFailed,
    NotEnded,
    NotFound,
    ResultNotStored,
)
from leasehold.store import reads, verbs
from leasehold.store.call import Call

R = TypeVar("R")
T = TypeVar("T")

LIVE = frozenset({"ready", "scheduled", "waiting", "dispatched", "assigned", "running"})


@dataclass(frozen=True, slots=True)
class Status:
    """How a job stands.

    `state` is waiting, scheduled, ready, dispatched, assigned or running while it lives; succeeded,
    failed, cancelled or expired after its end.
    """

    id: UUID
    state: str
    task: str
    queue: str
    attempts: int
    progress: float | None
    note: str | None
    error: dict[str, Any] | None
    enqueued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def ended(self) -> bool:
        return self.state not in LIVE


class Office(Protocol):
    """Where a handle asks: an app."""

    async def ask(self, call: Call[T], /) -> T: ...

    def ask_sync(self, call: Call[T], /) -> T: ...

    async def ended(self, job: UUID, timeout: float | None) -> bool: ...

    def decoded(self, task: str, raw: bytes | None) -> Any: ...


class Handle(Generic[R]):
    """`duplicate` says that the key was taken and this is the job that has it."""

    __slots__ = ("_office", "duplicate", "id")

    def __init__(self, office: Office, job: UUID, *, duplicate: bool = False) -> None:
        self._office, self.id, self.duplicate = office, job, duplicate

    def __repr__(self) -> str:
        return f"<Handle {self.id}>"

    async def status(self) -> Status:
        """NotFound when it is not here, or not yours."""
        return self._read(await self._office.ask(reads.standing([self.id])))[0]

    def status_sync(self) -> Status:
        return self._read(self._office.ask_sync(reads.standing([self.id])))[0]

    async def wait(self, timeout: float | None = None) -> Status:
        """Returns when the job has ended, however; raises NotEnded when the time is over."""
        if not await self._office.ended(self.id, timeout):
            raise NotEnded(self.id, timeout or 0.0)
        return await self.status()

    async def result(self, timeout: float | None = None) -> R:
        """What its function returned.

        Raises JobFailed, JobCancelled or JobExpired where it did not, NotEnded where not yet,
        ResultNotStored where it did and what it returned could not be kept.
        """
        if not await self._office.ended(self.id, timeout):
            raise NotEnded(self.id, timeout or 0.0)
        return self._result(await self._office.ask(reads.standing([self.id])))

    def result_sync(self, timeout: float | None = None, look: float = 0.1) -> R:
        """The same without an event loop: looks every `look` seconds."""
        ends = None if timeout is None else time.monotonic() + timeout
        while True:
            rows = self._office.ask_sync(reads.standing([self.id]))
            if self._read(rows)[0].ended:
                return self._result(rows)
            if ends is not None and time.monotonic() >= ends:
                raise NotEnded(self.id, timeout or 0.0)
            time.sleep(look)

    async def cancel(self, reason: str | None = None) -> str:
        """Answers cancelled, requested (it runs and is told to stop), or ended (too late)."""
        return self._verdict(await self._office.ask(verbs.cancel([self.id], "app", reason)))

    def cancel_sync(self, reason: str | None = None) -> str:
        return self._verdict(self._office.ask_sync(verbs.cancel([self.id], "app", reason)))

    def _verdict(self, verdicts: verbs.Verdicts) -> str:
        if not verdicts or verdicts[0][1] == "not_found":
            raise NotFound(self.id)
        return verdicts[0][1]

    def _read(self, rows: Any) -> tuple[Status, Any]:
        if not rows:
            raise NotFound(self.id)
        (
            _,
            job,
            state,
            task,
            queue,
            attempts,
            progress,
            note,
            result,
            error,
            enqueued,
            started,
            ended,
            *_,
        ) = rows[0]
        error = msgspec.json.decode(error) if isinstance(error, bytes | str) else error
        return Status(
            job, state, task, queue, attempts, progress, note, error, enqueued, started, ended
        ), result

    def _result(self, rows: Any) -> R:
        status, raw = self._read(rows)
        error = status.error or {}
        match status.state:
            case "succeeded":
                if error:
                    raise ResultNotStored(self.id, str(error.get("message", "")))
                document = (
                    raw if raw is None or isinstance(raw, bytes) else msgspec.json.encode(raw)
                )
                value: R = self._office.decoded(status.task, document)
                return value
            case "cancelled":
                raise JobCancelled(self.id, str(error.get("message", "")))
            case "expired":
                raise JobExpired(self.id)
            case "failed":
                raise JobFailed(
                    self.id, str(error.get("type", "unknown")), str(error.get("message", ""))
                )
            case _:
                raise NotEnded(self.id, 0.0)
