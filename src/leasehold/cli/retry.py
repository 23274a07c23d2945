"""`leasehold retry JOB...`"""

from typing import Annotated

from cyclopts import Parameter

from leasehold.cli.options import Database, Jobs, Json, Reason
from leasehold.cli.verdicts import carry_out


def retry(
    jobs: Jobs,
    /,
    *,
    queue: Annotated[str | None, Parameter(help="to this queue instead of its own")] = None,
    priority: Annotated[int | None, Parameter(help="with this priority")] = None,
    reason: Reason = None,
    json: Json = False,
    database: Database = None,
) -> int:
    """Dead or ended jobs may run again: same id and history, fresh attempts."""
    return carry_out(
        "retry", jobs, reason, json=json, database=database, queue=queue, priority=priority
    )
