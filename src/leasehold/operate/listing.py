"""A page of jobs, newest first. A state is read from its room; no question walks a whole table."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from leasehold.define.bounds import one_of
from leasehold.define.moves import STATES
from leasehold.errors import SettingsError
from leasehold.operate.ask import Ask
from leasehold.operate.timeline import REOPENED
from leasehold.store import reads

SCANNED: Final = 5_000  # candidates looked at for one page
MOST: Final = 1_000
FILTERS: Final = (
    *("state", "queue", "task", "tenant", "group", "key", "name", "tag", "error"),
    *("since", "until"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One job in a list. `at` is the time that matters in its state: due, claimed, ended."""

    id: UUID
    state: str
    task: str
    queue: str
    priority: int
    tenant: str | None
    key: str | None
    name: str | None
    attempts: int
    progress: float | None
    error: dict[str, Any] | None
    enqueued_at: datetime
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """`after` asks for what follows; None at the end. A page may be short and not the last."""

    jobs: tuple[Line, ...]
    after: str | None


def page(ask: Ask, chosen: Mapping[str, str], *, limit: int = 50, after: str | None = None) -> Page:
    """`chosen` has names from FILTERS; since and until are times in ISO format."""
    if (state := chosen.get("state")) is not None:
        one_of("state", state, STATES)
    if not 1 <= limit <= MOST:
        msg = f"limit takes 1 to {MOST}, got {limit}"
        raise SettingsError(msg)
    rows = ask(reads.jobs_page(chosen, limit, SCANNED, _cursor(after)))
    lines = tuple(_line(row) for row in rows if row[0] is not None)
    more = rows[-1][13] if rows and (rows[-1][0] is None or len(lines) == limit) else None
    return Page(jobs=lines, after=_shown(more) if more else None)


def _line(row: Any) -> Line:
    (job, state, task, queue, priority, tenant, key, name, attempts, progress, error, *times) = row
    error = msgspec.json.decode(error) if isinstance(error, bytes | str) else error
    if error and error.get("type") == REOPENED:
        error = None
    return Line(
        id=job, state=state, task=task, queue=queue, priority=priority, tenant=tenant, key=key,
        name=name, attempts=attempts, progress=progress, error=error, enqueued_at=times[0],
        at=times[1],
    )  # fmt: skip


def _shown(cursor: str) -> str:
    """Where a list is in the order of ids, no time is part of its cursor."""
    return cursor.removeprefix("infinity/").replace(" ", "T")


def _cursor(said: str | None) -> str | None:
    if said is None:
        return None
    said = said if "/" in said else f"infinity/{said}"
    at, _, job = said.partition("/")
    try:
        UUID(job)
        if at != "infinity":
            datetime.fromisoformat(at)
    except ValueError:
        msg = "after takes the cursor that the page before printed"
        raise SettingsError(msg) from None
    return said
