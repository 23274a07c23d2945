"""`leasehold cancel JOB...`"""

from leasehold.cli.options import Database, Jobs, Json, Reason
from leasehold.cli.verdicts import carry_out


def cancel(
    jobs: Jobs,
    /,
    *,
    reason: Reason = None,
    json: Json = False,
    database: Database = None,
) -> int:
    """Jobs that wait end at once; one that runs is told to stop."""
    return carry_out("cancel", jobs, reason, json=json, database=database)
