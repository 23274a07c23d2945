"""The fixture `house` of our own tests: jobs, runners and time in a database, through SQL alone."""

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import Any, NamedTuple, Self, TypeVar
from uuid import UUID

from psycopg.types.json import Jsonb

from audit import audit
from leasehold.store import verbs
from leasehold.store.call import Call
from leasehold.store.connect import Connection, connect_sync
from leasehold.store.drivers.psycopg import run_sync
from leasehold.testing import Clock

T = TypeVar("T")
DOCUMENTS = {"payload", "headers"}
ROOMS = ("ready", "scheduled", "waiting", "dispatched", "dead")


class Claimed(NamedTuple):
    """A job as `claim` and `take` hand it out."""

    bundle: int
    id: UUID
    claim_no: int
    queue: str
    task: str
    payload: Any
    attempts: int
    interrupted: int
    priority: int
    turn: datetime
    deadline: datetime | None
    timeout: float | None
    max_attempts: int | None
    tenant: str | None
    headers: Any


class House:
    """One session in the database `dsn`, and as many more as a test opens with `connect`."""

    def __init__(self, dsn: str, clock: Clock) -> None:
        self.dsn, self.clock = dsn, clock
        self.workers: dict[int, int] = {}  # of each runner
        self.marks: Any = None  # what the last claim said
        self._others: list[Connection] = []
        self._pids = count(1000)
        self.connection = self.connect()
        self._others.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.leave_sessions()
        self.connection.close()

    # Sessions

    def connect(self) -> Connection:
        """A second session; closed when the test ends."""
        other = connect_sync(self.dsn, timeout=20)
        self._others.append(other)
        return other

    def leave_sessions(self) -> None:
        while self._others:
            self._others.pop().close()

    def call(self, call: Call[T], by: Connection | None = None) -> T:
        return run_sync(by or self.connection, call)

    def rows(self, sql: str, *arguments: Any) -> list[Any]:
        return self.connection.execute(sql.encode(), arguments or None).fetchall()

    def value(self, sql: str, *arguments: Any) -> Any:
        return self.rows(sql, *arguments)[0][0]

    def do(self, sql: str, *arguments: Any) -> None:
        self.connection.execute(sql.encode(), arguments or None)

    def aside(self, work: Callable[[Connection], T]) -> "Aside":
        """`work` in another session meanwhile; `.blocked()` returns when it waits."""
        return Aside(self, self.connect(), work)

    # Time

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def outlive_leases(self, leader: int) -> None:
        """Time in which the leader ticked and no runner beat: their leases are over."""
        for _ in range(4):
            assert self.call(verbs.lead(leader))
            self.pass_time(10)
        assert self.call(verbs.lead(leader))

    def leader(self) -> int:
        """A worker that leads, and has for long enough to reap."""
        worker = self.worker()
        self.outlive_leases(worker)
        return worker

    # Jobs

    def enqueue(self, by: Connection | None = None, **columns: Any) -> UUID:
        """A plain INSERT, as any program may do it."""
        return self.enqueue_all([columns], by)[0]

    def enqueue_all(
        self, jobs: Sequence[dict[str, Any]], by: Connection | None = None
    ) -> list[UUID]:
        """One INSERT of many rows; all name the same columns."""
        jobs = [{"task": "t", **job} for job in jobs]
        names = ", ".join(f'"{name}"' for name in jobs[0])
        rows = ", ".join(f"({', '.join('%s' for _ in job)})" for job in jobs)
        values = [Jsonb(v) if k in DOCUMENTS else v for job in jobs for k, v in job.items()]
        sql = f"insert into leasehold.job ({names}) values {rows} returning id"
        return [row[0] for row in (by or self.connection).execute(sql.encode(), values).fetchall()]

    def enqueue_many(self, count: int, **columns: Any) -> list[UUID]:
        return self.enqueue_all([columns] * count)

    # Runners

    def worker(self, queues: Sequence[str] = ("default",), tasks: Sequence[str] = ("t",)) -> int:
        return self.call(verbs.enrol(next(self._pids), "host", "0", list(queues), list(tasks)))

    def runner(self, worker: int | None = None) -> int:
        worker = worker or self.worker()
        runner, _lease = self.call(verbs.hire(worker, next(self._pids)))
        self.workers[runner] = worker
        return runner

    def beat(self, runner: int, bundles: Sequence[int] = (), **said: Any) -> dict[str, Any]:
        """The news for this runner, whose supervisor says that it knows these bundles."""
        told = {"id": runner, "bundles": list(bundles), **said}
        return self.call(verbs.beat(self.workers[runner], [told]))

    def claim(
        self,
        runner: int,
        limit: int = 1,
        *,
        queues: Sequence[str] = ("default",),
        tasks: Sequence[str] | None = None,
        begin: int | None = None,
        marks: Any = None,
        by: Connection | None = None,
    ) -> list[Claimed]:
        given = None if marks is None else json.dumps(marks)
        begin = limit if begin is None else begin
        known = None if tasks is None else list(tasks)
        found = self.call(verbs.claim(runner, list(queues), known, limit, begin, given), by)
        self.marks = next((row[15] for row in found if row[0] is None), None)
        return [Claimed(*row[:15]) for row in found if row[0] is not None]

    def running(self, runner: int | None = None, **columns: Any) -> Claimed:
        """A job that was enqueued and claimed."""
        job = self.enqueue(**columns)
        runner = runner or self.runner()
        queue = columns.get("queue", "default")
        return next(one for one in self.claim(runner, queues=[queue]) if one.id == job)

    def finish(
        self,
        runner: int,
        *jobs: Claimed,
        outcome: str = "succeeded",
        strict: bool = False,
        by: Connection | None = None,
        **said: Any,
    ) -> dict[UUID, str]:
        """What was refused, and why: {} when all was done."""
        bundles = sorted({job.bundle for job in jobs})
        if outcome == "succeeded":
            ids, claims = [job.id for job in jobs], [job.claim_no for job in jobs]
            results = [json.dumps(said["result"])] * len(jobs) if "result" in said else None
            took = [said.get("run_ms", 1)] * len(jobs)
            call = verbs.finish(runner, bundles, ids, claims, took, results, None, strict)
        else:
            ends = [
                {"job": str(job.id), "claim": job.claim_no, "outcome": outcome, **said}
                for job in jobs
            ]
            call = verbs.finish(runner, bundles, [], [], [], None, json.dumps(ends), strict)
        return {job: verdict for job, _claim, verdict in self.call(call, by)}

    def release(self, runner: int, *jobs: Claimed, delay: float | None = None) -> set[UUID]:
        bundles = sorted({job.bundle for job in jobs})
        ids, claims = [job.id for job in jobs], [job.claim_no for job in jobs]
        return {row[0] for row in self.call(verbs.release(runner, bundles, ids, claims, delay))}

    def dead(self, **columns: Any) -> UUID:
        """A job that failed for good."""
        runner = self.runner()
        job = self.running(runner, **columns)
        self.finish(runner, job, outcome="failed", error={"type": "Boom", "message": "no"})
        return job.id

    # Questions

    def state(self, job: UUID) -> str | None:
        found = self.rows("select state from leasehold.state_of(array[%s])", job)
        return found[0][0] if found else None

    def history(self, job: UUID) -> list[str]:
        """The outcome of each line, oldest first."""
        sql = "select outcome from leasehold.attempt_all where job_id = %s order by claim_no"
        return [row[0] for row in self.rows(sql, job)]

    def attempt(self, job: UUID) -> Any:
        """The newest line of its history, by column."""
        sql = "select to_jsonb(a) from leasehold.attempt_all a where job_id = %s"
        return self.rows(f"{sql} order by claim_no desc limit 1", job)[0][0]

    def entry(self, room: str, job: UUID) -> Any:
        """Its row in a room, by column."""
        found = self.rows(f"select to_jsonb(r) from leasehold.{room} r where job_id = %s", job)
        return found[0][0] if found else None

    def rooms(self, job: UUID) -> set[str]:
        """All rooms that hold it, looked up in the tables themselves."""
        found = {room for room in ROOMS if self.entry(room, job)}
        running = (
            "select from leasehold.running r cross join lateral unnest(job_ids, claim_nos) m(j, c) "
            "where m.j = %s and not exists (select from leasehold.attempt_all a "
            "where a.job_id = m.j and a.claim_no = m.c)"
        )
        return found | ({"running"} if self.rows(running, job) else set())

    def ready(self, *queues: str) -> list[UUID]:
        """What is ready, in the order in which it would be claimed."""
        sql = "select job_id from leasehold.ready where queue = any(%s)"
        found = self.rows(f"{sql} order by priority, turn, job_id", list(queues or ("default",)))
        return [row[0] for row in found]

    def count(self, table: str) -> int:
        return self.value(f"select count(*) from leasehold.{table}")

    def audit(self) -> None:
        """No other session may be in the middle of something."""
        self.leave_sessions()
        broken = audit(self.connection)
        assert not broken, "\n".join(broken)


class Aside:
    """Work that goes on in another session."""

    def __init__(
        self, house: House, connection: Connection, work: Callable[[Connection], Any]
    ) -> None:
        self._house, self._pid = house, connection.info.backend_pid
        self._future: Future[Any] = Future()
        threading.Thread(target=self._run, args=(connection, work), daemon=True).start()

    def _run(self, connection: Connection, work: Callable[[Connection], Any]) -> None:
        try:
            self._future.set_result(work(connection))
        except BaseException as error:  # noqa: BLE001  whoever asks for the result gets it
            self._future.set_exception(error)

    def blocked(self) -> None:
        """Returns as soon as it waits for a lock of somebody else."""
        for _ in range(100):
            with suppress(TimeoutError):
                self._future.result(timeout=0.01)
                raise AssertionError("it has ended and never waited")
            if self._house.value("select cardinality(pg_blocking_pids(%s)) > 0", self._pid):
                return
        raise AssertionError("it did not wait for a lock within a second")

    def result(self) -> Any:
        return self._future.result(timeout=20)
