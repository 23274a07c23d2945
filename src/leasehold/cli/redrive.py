"""`leasehold redrive`: many dead jobs may run again, chosen by what they are and why they died."""

from typing import Annotated, Literal

from cyclopts import Parameter

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.cli.options import Database, Json, Reason
from leasehold.cli.times import past
from leasehold.define import bounds
from leasehold.errors import SettingsError
from leasehold.operate import act


def redrive(
    *,
    queue: Annotated[str | None, Parameter(help="that died in this queue")] = None,
    task: Annotated[str | None, Parameter(help="of this task")] = None,
    tenant: Annotated[str | None, Parameter(help="of this tenant")] = None,
    error: Annotated[str | None, Parameter(help="that died of an error of this type")] = None,
    reason_was: Annotated[
        Literal["failed", "poison"] | None, Parameter(show_choices=False, help="failed, or poison")
    ] = None,
    since: Annotated[
        str | None, Parameter(help="that died since: a time, or how long ago (2h)")
    ] = None,
    until: Annotated[
        str | None, Parameter(help="that died before: a time, or how long ago")
    ] = None,
    to_queue: Annotated[str | None, Parameter(help="into this queue instead of their own")] = None,
    priority: Annotated[int | None, Parameter(help="with this priority")] = None,
    limit: Annotated[int | None, Parameter(help="at most so many")] = None,
    pace: Annotated[float | None, Parameter(help="at most so many a second")] = None,
    dry_run: Annotated[bool, Parameter(negative="", help="only say what would be done")] = False,
    reason: Reason = None,
    json: Json = False,
    database: Database = None,
) -> int:
    """Dead jobs chosen by queue, task, tenant, error and time may run again, the oldest first."""
    if to_queue is not None:
        bounds.text("to-queue", to_queue, 63)
    if priority is not None:
        bounds.priority("priority", priority)
    if (limit is not None and limit < 1) or (pace is not None and not 0 < pace < float("inf")):
        msg = "--limit and --pace take numbers above 0"
        raise SettingsError(msg)
    said = {
        "queue": queue, "task": task, "tenant": tenant, "error": error, "reason": reason_was,
        "since": past("since", since).isoformat() if since else None,
        "until": past("until", until).isoformat() if until else None,
    }  # fmt: skip
    chosen = {name: value for name, value in said.items() if value is not None}
    with house.asking(database) as ask:
        groups = act.redrivable(ask, chosen)
        total = sum(group.jobs for group in groups)
        total = total if limit is None else min(total, limit)
        if dry_run:
            return _would(groups, total, json=json)
        verdicts: dict[object, str] = {}
        with screen.progress("redriving", total) as advance:
            for batch in act.redrive(
                ask,
                chosen,
                house.actor(),
                reason,
                queue=to_queue,
                priority=priority,
                limit=limit,
                pace=pace,
            ):
                verdicts |= dict(batch)
                advance(len(batch))
    done = sum(verdict == "retried" for verdict in verdicts.values())
    left = {job: verdict for job, verdict in verdicts.items() if verdict != "retried"}
    if json:
        screen.document(
            {"retried": done, "refused": [{"job": job, "verdict": v} for job, v in left.items()]}
        )
    else:
        screen.say(f"{_many(done)} may run again" if done else "no dead job was redriven")
        for job, verdict in left.items():
            why = "another live job has its key" if verdict == "key_taken" else f"it is {verdict}"
            screen.complain(f"job {job} stays in the dead letter: {why}")
    return 1 if left else 0


def _would(groups: list[act.Group], total: int, *, json: bool) -> int:
    if json:
        screen.document({"would_retry": total, "groups": groups})
        return 0
    more = "at least " if sum(group.jobs for group in groups) >= act.COUNTED else ""
    screen.say(f"{more}{_many(total)} would be redriven" if total else "no dead job is like that")
    if groups:
        rows = [
            (f"  {group.task}", group.error or "-", group.reason, str(group.jobs))
            for group in groups
        ]
        screen.table(["  task", "error", "died", ">jobs"], rows)
    return 0


def _many(number: int) -> str:
    return f"{number} job" if number == 1 else f"{number} jobs"
