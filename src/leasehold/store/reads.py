"""One function per question; each answers with a `Call` that a driver carries.

The SQL is in sql/reads, a file per question.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec

from leasehold.store.call import Call, Rows


def _raw(rows: Rows) -> Rows:
    return rows


def _document(rows: Rows) -> dict[str, Any]:
    """One JSON document; some drivers hand it over as text."""
    said = rows[0][0]
    found: dict[str, Any] = said if isinstance(said, dict) else msgspec.json.decode(said)
    return found


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
    """How jobs stand.

    (asked, id, state, task, queue, attempts, progress, note, result, error, enqueued, started,
    ended, runner, due, reason)
    """
    return Call("standing", "uuid[]", (jobs,), _raw)


def twins(jobs: Any) -> Call[dict[UUID, UUID]]:
    """Of these jobs, those whose key was taken, with the live job that has it."""
    return Call("twins", "uuid[]", (jobs,), lambda rows: {row[0]: row[1] for row in rows})


# What people ask.


def locate(asked: list[str]) -> Call[list[tuple[str, UUID, UUID | None]]]:
    """Which jobs are meant by these ids, names or keys: (asked, job, the job it duplicates)."""
    return Call("locate", "text[]", (asked,), lambda rows: [(r[0], r[1], r[2]) for r in rows])


def backlog(exact: int) -> Call[Rows]:
    """How many jobs sit where: (queue, room, jobs, exact, head), exact up to `exact` jobs."""
    return Call("backlog", "int", (exact,), _raw)


def fleet(minutes: int) -> Call[dict[str, Any]]:
    """Workers, runners, the leader, and what ended in the last minutes."""
    return Call("fleet", "int", (minutes,), _document)


def jobs_page(
    chosen: Mapping[str, str], limit: int, scan: int, after: str | None = None
) -> Call[Rows]:
    """A page of jobs, newest first; a last row without a job says where the look ended."""
    document = msgspec.json.encode(dict(chosen)).decode()
    return Call("jobs_page", "jsonb int int text", (document, limit, scan, after), _raw)


def timeline(job: UUID) -> Call[dict[str, Any] | None]:
    """All that is known of one job; None when it is not here."""
    return Call("timeline", "uuid", (job,), lambda rows: _document(rows) if rows else None)


def prospects(queue: str, task: str, job: UUID, most: int) -> Call[dict[str, Any]]:
    """What stands between a waiting job and its run."""
    return Call("prospects", "text text uuid int", (queue, task, job, most), _document)


def redrivable(chosen: Mapping[str, str], most: int) -> Call[Rows]:
    """What `redrive` would take: (task, error, reason, jobs, newest death)."""
    document = msgspec.json.encode(dict(chosen)).decode()
    return Call("redrivable", "jsonb int", (document, most), _raw)


def health_server() -> Call[dict[str, Any]]:
    """Version, settings, connections, and who holds back the cleaning of dead rows."""
    return Call("health_server", "", (), _document)


def health_schema() -> Call[dict[str, Any]]:
    """Migrations, functions, rights, roles, days ahead and behind, segments."""
    return Call("health_schema", "", (), _document)


def health_jobs(most: int) -> Call[dict[str, Any]]:
    """Jobs in no room, and what lost runners still hold."""
    return Call("health_jobs", "int", (most,), _document)
