"""`leasehold jobs`: a page of jobs, newest first."""

from typing import Annotated, Literal

from cyclopts import Parameter

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.cli.options import Database, Json
from leasehold.cli.times import clock, past
from leasehold.define.moves import STATES
from leasehold.operate.listing import Line, page

# Written out, for shells complete what stands in a Literal; a test compares it with STATES.
State = Literal[
    "waiting", "scheduled", "ready", "dispatched", "assigned", "running", "succeeded", "failed",
    "cancelled", "expired",
]  # fmt: skip


def jobs(
    *,
    state: Annotated[
        State | None,
        Parameter(show_choices=False, help=f"{', '.join(STATES[:-1])} or {STATES[-1]}"),
    ] = None,
    queue: Annotated[str | None, Parameter(help="of this queue")] = None,
    task: Annotated[str | None, Parameter(help="of this task")] = None,
    tenant: Annotated[str | None, Parameter(help="of this tenant")] = None,
    group: Annotated[str | None, Parameter(help="of this group")] = None,
    key: Annotated[str | None, Parameter(help="with this idempotency key")] = None,
    name: Annotated[str | None, Parameter(help="with this id of the caller's own")] = None,
    tag: Annotated[str | None, Parameter(help="with this tag")] = None,
    since: Annotated[
        str | None, Parameter(help="enqueued since: a time, or how long ago (2h)")
    ] = None,
    until: Annotated[str | None, Parameter(help="enqueued before: a time, or how long ago")] = None,
    error: Annotated[
        str | None,
        Parameter(help="with an error of this type; failed ones, unless --state says else"),
    ] = None,
    limit: Annotated[int, Parameter(help="jobs on a page")] = 50,
    after: Annotated[str | None, Parameter(help="the cursor that the page before printed")] = None,
    json: Json = False,
    database: Database = None,
) -> int:
    """Lists jobs, newest first, one page at a time."""
    said = {
        "state": state, "queue": queue, "task": task, "tenant": tenant, "group": group, "key": key,
        "name": name, "tag": tag, "error": error,
        "since": past("since", since).isoformat() if since else None,
        "until": past("until", until).isoformat() if until else None,
    }  # fmt: skip
    chosen = {name: value for name, value in said.items() if value is not None}
    with house.asking(database) as ask:
        found = page(ask, chosen, limit=limit, after=after)
    if json:
        screen.document(found)
        return 0
    if found.jobs:
        screen.table(
            ["job", "state", "task", "queue", ">runs", "enqueued", ""], map(_row, found.jobs)
        )
    elif found.after is None:
        screen.say("no jobs like that")
    if found.after is not None:
        screen.say(f"more: --after {found.after}", "dim")
    return 0


def _row(line: Line) -> tuple[screen.Cell, ...]:
    return (
        str(line.id), screen.state(line.state), line.task, line.queue, str(line.attempts),
        clock(line.enqueued_at), (_note(line), "dim"),
    )  # fmt: skip


def _note(line: Line) -> str:
    """The one thing worth knowing of it."""
    if line.state in ("failed", "scheduled") and line.error:
        said = f"{line.error.get('type')}: {line.error.get('message', '')}".partition("\n")[0]
        when = f"again at {clock(line.at)}, " if line.state == "scheduled" else ""
        return f"{when}{said[:80]}"
    if line.state == "scheduled":
        return f"at {clock(line.at)}"
    if line.state == "running" and line.progress is not None:
        return f"{line.progress:g} %"
    names = (("key", line.key), ("id", line.name), ("tenant", line.tenant))
    return ", ".join(f"{what} {value}" for what, value in names if value)
