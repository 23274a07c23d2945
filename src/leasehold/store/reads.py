"""One function per question; each answers with a `Call` that a driver carries. The SQL is in sql/reads, a file per question."""

from typing import Any
from uuid import UUID

from leasehold.store.call import Call, Rows


def _raw(rows: Rows) -> Rows:
    return rows


def bodies(jobs: Any) -> Call[Rows]:
    """The payloads of jobs whose claim came without: (job, payload)."""
    return Call("bodies", "uuid[]", (jobs,), _raw)


def checkpoints(jobs: Any) -> Call[Rows]:
    """What jobs kept from earlier attempts: (job, progress, note, data, metadata)."""
    return Call("checkpoints", "uuid[]", (jobs,), _raw)


def clock_now() -> Call[int]:
    """The database's time in microseconds since 2000."""
    return Call("clock_now", "", (), lambda rows: int(rows[0][0]))


def standing(jobs: Any) -> Call[Rows]:
    """How jobs stand: (asked, id, state, task, queue, attempts, progress, note, result, error, enqueued, started, ended, runner, due, reason)."""
    return Call("standing", "uuid[]", (jobs,), _raw)


def twins(jobs: Any) -> Call[dict[UUID, UUID]]:
    """Of these jobs, those whose key was taken, with the live job that has it."""
    return Call("twins", "uuid[]", (jobs,), lambda rows: {row[0]: row[1] for row in rows})
