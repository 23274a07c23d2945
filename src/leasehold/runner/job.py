"""The job a task's function runs for: what it may know of itself, and say."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from leasehold.errors import LeaseLost, NoCurrentJob
from leasehold.payloads.failure import clean
from leasehold.runner import verdict
from leasehold.runner.backlog import Claimed
from leasehold.store import drivers, reads, verbs
from leasehold.store.call import Call

if TYPE_CHECKING:
    from leasehold.runner.run import Runner

_2000 = datetime(2000, 1, 1, tzinfo=UTC)  # where a claim's times count from
current: ContextVar["Job"] = ContextVar("leasehold_job")


def current_job() -> "Job":
    """The job whose function this is called in."""
    try:
        return current.get()
    except LookupError:
        raise NoCurrentJob from None


class Job:
    """One run of one job. `fence` names the run, for outside systems that refuse older ones."""

    __slots__ = (
        "_claimed",
        "_runner",
        "attempt",
        "bundle",
        "claim_no",
        "ended_by_itself",
        "interrupted",
        "max_attempts",
        "note",
        "percent",
        "queue",
        "stop_because",
        "task",
        "tenant",
    )

    def __init__(self, runner: "Runner", claimed: Claimed) -> None:
        self._runner, self._claimed = runner, claimed
        self.bundle, self.claim_no = claimed.bundle, claimed.claim_no
        self.queue, self.task, self.tenant = claimed.queue, claimed.task, claimed.tenant
        self.attempt, self.interrupted = claimed.attempts + 1, claimed.interrupted
        self.max_attempts = claimed.max_attempts
        self.stop_because: str | None = None
        self.percent: float | None = None
        self.note: str | None = None
        self.ended_by_itself = False

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.task} attempt {self.attempt}>"

    @property
    def id(self) -> UUID:
        return self._claimed.uuid

    @property
    def headers(self) -> dict[str, Any]:
        """What the enqueuer sent along for programs: trace context and the like."""
        sent = self._claimed.headers
        said: dict[str, Any] = msgspec.json.decode(sent) if sent else {}
        return said

    @property
    def deadline(self) -> datetime | None:
        """Not ended by then, the job is not tried again."""
        ends = self._claimed.deadline
        return None if ends is None else _2000 + timedelta(microseconds=ends)

    @property
    def fence(self) -> str:
        """Differs from run to run of one job and only grows."""
        return f"{self.id}:{self.claim_no}"

    @property
    def cancelled(self) -> bool:
        """Somebody wants this run to stop. Async functions get CancelledError; others look here."""
        return self.stop_because is not None

    def stop_if_cancelled(self) -> None:
        """For functions in threads: raises where stopping is safe."""
        if self.stop_because is not None:
            raise asyncio.CancelledError(self.stop_because)

    def progress(self, percent: float, note: str | None = None) -> None:
        """Costs no write: it rides with the next heartbeat."""
        self.percent = min(max(float(percent), 0.0), 100.0)
        self.note = clean(note[:2000]) if note else note
        self._runner.progressed[self._claimed.id] = self

    async def checkpoint(self) -> Any:
        """What an earlier attempt of this job saved, or None."""
        return await self._kept(3)

    async def metadata(self) -> Any:
        """What the run before sent along by `SendOn(metadata=…)`, or None."""
        return await self._kept(4)

    async def _kept(self, column: int) -> Any:
        rows = await self._runner.ask(reads.checkpoints([self.id]))
        found = rows[0][column] if rows else None
        return None if found is None else msgspec.json.decode(found)

    async def save(self, data: Any) -> None:
        """Keeps `data` for the next attempt; raises LeaseLost when somebody else has the job."""
        saved = {
            "bundle": self.bundle,
            "job": self.id,
            "data": self._storable(data),
            "progress": self.percent,
            "note": self.note,
        }
        if not await self._runner.ask(verbs.save(self._runner.number, [saved])):
            raise LeaseLost(self.id)

    def _storable(self, data: Any) -> Any:
        return verdict.kept(self._runner.tasks[self.task], "save()", data)

    def checkpoint_sync(self) -> Any:
        """`checkpoint`, from a thread."""
        return self._runner.from_thread(self.checkpoint())

    def metadata_sync(self) -> Any:
        """`metadata`, from a thread."""
        return self._runner.from_thread(self.metadata())

    def save_sync(self, data: Any) -> None:
        """`save`, from a thread."""
        self._runner.from_thread(self.save(data))

    @asynccontextmanager
    async def finishing(self, conn: Any, result: Any = None) -> AsyncIterator[None]:
        """Your writes on `conn` and the end of this run commit together, or neither does.

        Opens a transaction where the connection has none of its own open. A run that lost its
        lease raises LeaseLost, and nothing it wrote is kept.
        """
        async with _transaction(conn):
            yield
            self._heed(await drivers.carry(conn, self._end(result)))
        self.ended_by_itself = True

    @contextmanager
    def finishing_sync(self, conn: Any, result: Any = None) -> Iterator[None]:
        """`finishing`, from a thread or a process, on a connection that is not async."""
        with _transaction_sync(conn):
            yield
            self._heed(drivers.carry_sync(conn, self._end(result)))
        self.ended_by_itself = True

    def _end(self, result: Any) -> Call[list[tuple[UUID, int, str]]]:
        raw, problem = self._runner.tasks[self.task].codec.encode_result(result)
        good = {"outcome": "succeeded", "result": msgspec.Raw(raw or b"null")}
        ends = verdict.kept_nothing(problem) if problem else good
        others = msgspec.json.encode([{"job": self.id, "claim": self.claim_no, **ends}]).decode()
        number = self._runner.number
        return verbs.finish(number, [self.bundle], [], [], [], others=others, strict=True)

    def _heed(self, verdicts: list[tuple[UUID, int, str]]) -> None:
        if any(verdict == "lost" for _, _, verdict in verdicts):
            raise LeaseLost(self.id)


@asynccontextmanager
async def _transaction(conn: Any) -> AsyncIterator[None]:
    package, kind = drivers.kind_of(conn)
    if kind == "sync":
        with _transaction_sync(conn):
            yield
    elif package != "sqlalchemy":
        async with conn.transaction():
            yield
    elif conn.in_transaction():
        yield
        await conn.commit()
    else:
        async with conn.begin():
            yield


@contextmanager
def _transaction_sync(conn: Any) -> Iterator[None]:
    package, _ = drivers.kind_of(conn)
    if package == "django":
        from django.db import transaction  # type: ignore[import-untyped]  # noqa: PLC0415 - the caller uses Django

        with transaction.atomic(using=conn.alias):
            yield
    elif package == "psycopg":
        with conn.transaction():
            yield
    elif conn.in_transaction():
        yield
        conn.commit()
    else:
        with conn.begin():
            yield
