"""One function per verb; each answers with a `Call` that a driver carries.

The SQL is in sql/verbs, a file per verb.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from leasehold.store.call import Call, Rows

Verdicts = list[tuple[UUID, str]]


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A stored job; with `duplicate_of`, the live job that has its key, it never runs."""

    id: UUID
    duplicate_of: UUID | None


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _nothing(_rows: Rows) -> None:
    return None


def _verdicts(rows: Rows) -> Verdicts:
    return [(row[0], row[1]) for row in rows]


def _raw(rows: Rows) -> Rows:
    return rows


def _first(rows: Rows) -> Any:
    return rows[0][0] if rows else None


def enqueue(jobs: str) -> Call[list[Enqueued]]:
    """`jobs` is a JSON array of objects with the columns of leasehold.job."""
    return Call(
        "enqueue", "jsonb", (jobs,), lambda rows: [Enqueued(row[0], row[1]) for row in rows]
    )


def claim(
    runner: int,
    queues: list[str],
    tasks: list[str] | None,
    limit: int,
    begin: int,
    marks: Any = None,
) -> Call[Rows]:
    """Jobs for a runner, at most `limit`; the last row carries the marks for the next claim."""
    return Call(
        "claim",
        "bigint text[] text[] int int jsonb",
        (runner, queues, tasks, limit, begin, marks),
        _raw,
    )


def finish(
    runner: int,
    bundles: list[int],
    jobs: Any,
    claims: Any,
    run_ms: Any,
    results: Any = None,
    others: str | None = None,
    strict: bool = False,
) -> Call[list[tuple[UUID, int, str]]]:
    """Ends runs; answers only those that were not plainly done: already, or lost."""
    return Call(
        "finish",
        "bigint bigint[] uuid[] int[] int[] jsonb[] jsonb bool",
        (runner, bundles, jobs, claims, run_ms, results, others, strict),
        lambda rows: [(row[0], row[1], row[2]) for row in rows],
    )


def release(
    runner: int, bundles: list[int], jobs: Any, claims: Any, delay: float | None = None
) -> Call[list[tuple[UUID, int]]]:
    """Gives jobs back unharmed, at once or after `delay` seconds."""
    return Call(
        "release",
        "bigint bigint[] uuid[] int[] float8",
        (runner, bundles, jobs, claims, delay),
        lambda rows: [(r[0], r[1]) for r in rows],
    )


def reap(limit: int, runner: int | None = None, begun: list[UUID] | None = None) -> Call[int]:
    """Takes back what lost runners held; answers how many jobs moved."""
    return Call(
        "reap",
        "int bigint uuid[]",
        (limit, runner, begun),
        lambda rows: sum(row[1] for row in rows),
    )


def promote(limit: int) -> Call[tuple[int, float | None]]:
    """Jobs whose time has come may run; answers how many, and the seconds until the next is due."""
    return Call("promote", "int", (limit,), lambda rows: (rows[0][0], rows[0][1]))


def unblock(limit: int) -> Call[int]:
    """Jobs that waited for others may run."""
    return Call("unblock", "int", (limit,), _first)


def expire(limit: int) -> Call[int]:
    """Jobs past their deadline end."""
    return Call("expire", "int", (limit,), _first)


def dispatch(
    queue: str, transport: str, limit: int, patience: float
) -> Call[list[tuple[UUID, int, str]]]:
    """Jobs go to an outside transport; not taken within `patience` seconds they come back."""
    return Call(
        "dispatch",
        "text text int float8",
        (queue, transport, limit, patience),
        lambda rows: [(r[0], r[1], r[2]) for r in rows],
    )


def take(runner: int, jobs: list[UUID], dispatch_nos: list[int]) -> Call[Rows]:
    """A runner makes dispatched jobs its own; the rows are those of `claim` without marks."""
    return Call("take", "bigint uuid[] bigint[]", (runner, jobs, dispatch_nos), _raw)


def cancel(jobs: list[UUID], actor: str, reason: str | None = None) -> Call[Verdicts]:
    return Call("cancel", "uuid[] text text", (jobs, actor, reason), _verdicts)


def hold(jobs: list[UUID], actor: str, reason: str | None = None) -> Call[Verdicts]:
    return Call("hold", "uuid[] text text", (jobs, actor, reason), _verdicts)


def resume(jobs: list[UUID], actor: str, reason: str | None = None) -> Call[Verdicts]:
    return Call("resume", "uuid[] text text", (jobs, actor, reason), _verdicts)


def retry(
    jobs: list[UUID],
    actor: str,
    reason: str | None = None,
    queue: str | None = None,
    priority: int | None = None,
) -> Call[Verdicts]:
    return Call(
        "retry", "uuid[] text text text int", (jobs, actor, reason, queue, priority), _verdicts
    )


def redrive(
    chosen: Mapping[str, str],
    limit: int,
    actor: str,
    reason: str | None = None,
    queue: str | None = None,
    priority: int | None = None,
) -> Call[Verdicts]:
    """Retries up to `limit` dead jobs; queue, task, tenant, error, reason, since, until choose."""
    return Call(
        "redrive",
        "jsonb int text text text int",
        (_json(dict(chosen)), limit, actor, reason, queue, priority),
        _verdicts,
    )


def discard(jobs: list[UUID], actor: str, reason: str | None = None) -> Call[Verdicts]:
    return Call("discard", "uuid[] text text", (jobs, actor, reason), _verdicts)


def wake(queues: list[str], jobs: int = 1) -> Call[None]:
    """Runners asleep on these queues look again."""
    return Call("wake", "text[] int", (queues, jobs), _nothing)


def sleep(runner: int, queues: list[str]) -> Call[None]:
    """This runner wants to be woken."""
    return Call("sleep", "bigint text[]", (runner, queues), _nothing)


def watch(jobs: list[UUID], channel: str) -> Call[set[UUID]]:
    """News of these jobs' ends go to `channel`; answers those that have ended already."""
    return Call("watch", "uuid[] text", (jobs, channel), lambda rows: {row[0] for row in rows})


def enrol(pid: int, host: str, version: str, queues: list[str], tasks: list[str]) -> Call[int]:
    """A supervisor says that it is here."""
    return Call("enrol", "int text text text[] text[]", (pid, host, version, queues, tasks), _first)


def hire(
    worker: int, pid: int, queues: list[str] | None = None, tasks: list[str] | None = None
) -> Call[tuple[int, float]]:
    """A runner begins; answers its number and the length of a lease in seconds.

    `queues` and `tasks` are what its code knows, where that may have changed since enrol.
    """
    types, arguments = "bigint int text[] text[]", (worker, pid, queues, tasks)
    return Call("hire", types, arguments, lambda rows: (rows[0][0], rows[0][1]))


def leave(worker: int) -> Call[None]:
    """A worker goes for good; what its runners still hold is given back."""
    return Call("leave", "bigint", (worker,), _nothing)


def beat(
    worker: int,
    runners: Sequence[Mapping[str, Any]],
    tally: Sequence[Mapping[str, Any]] | None = None,
) -> Call[dict[str, Any]]:
    """Keeps the leases of all runners of a worker; answers what changed for them."""

    def news(rows: Rows) -> dict[str, Any]:
        said = rows[0][0]
        document: dict[str, Any] = said if isinstance(said, dict) else msgspec.json.decode(said)
        return document

    return Call(
        "beat",
        "bigint jsonb jsonb",
        (worker, _json(list(runners)), _json(list(tally)) if tally else None),
        news,
    )


def save(runner: int, saved: Sequence[Mapping[str, Any]]) -> Call[set[UUID]]:
    """Progress, note and data of held jobs; answers those that are still held."""
    return Call(
        "save", "bigint jsonb", (runner, _json(list(saved))), lambda rows: {row[0] for row in rows}
    )


def lead(worker: int) -> Call[int | None]:
    """Asks to be, or stay, the leader; answers the term, or None."""
    return Call("lead", "bigint", (worker,), _first)


def rotate(size: int = 4_000_000) -> Call[tuple[int | None, int | None, int | None, int]]:
    """The segments of ready take turns.

    Answers which was sealed, emptied, opened, and the bytes of the open one.
    """
    return Call(
        "rotate", "bigint", (size,), lambda rows: (rows[0][0], rows[0][1], rows[0][2], rows[0][3])
    )


def partition(days: int | None = None) -> Call[int]:
    """Makes the days ahead; answers how many tables were made."""
    return Call("partition", "int", (days,), _first)


def fold(limit: int) -> Call[int]:
    """Tally deltas become minutes."""
    return Call("fold", "int", (limit,), _first)


def retain(limit: int) -> Call[int]:
    """What has had its time goes."""
    return Call("retain", "int", (limit,), _first)


def retire() -> Call[tuple[str, str] | None]:
    """The oldest day past its keep is left by what still lives; answers its two tables, or None."""
    return Call("retire", "", (), lambda rows: (rows[0][0], rows[0][1]) if rows else None)


def retire_rest(job_table: str, attempt_table: str) -> Call[int]:
    """What arrived late in a detached day is kept."""
    return Call("retire_rest", "text text", (job_table, attempt_table), _first)


def purge(tenant: str, limit: int, actor: str) -> Call[tuple[int, int]]:
    """A tenant leaves; answers how many of its jobs are gone, and how many still run."""
    return Call(
        "purge", "text int text", (tenant, limit, actor), lambda rows: (rows[0][0], rows[0][1])
    )
