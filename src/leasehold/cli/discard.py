"""`leasehold discard JOB...`"""

from leasehold.cli.options import Database, Jobs, Json, Reason
from leasehold.cli.verdicts import carry_out


def discard(
    jobs: Jobs,
    /,
    *,
    reason: Reason = None,
    json: Json = False,
    database: Database = None,
) -> int:
    """Jobs leave the dead letter for good; their history stays until its day is over."""
    return carry_out("discard", jobs, reason, json=json, database=database)
