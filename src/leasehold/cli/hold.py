"""`leasehold hold JOB...`"""

from leasehold.cli.options import Database, Jobs, Json, Reason
from leasehold.cli.verdicts import carry_out


def hold(
    jobs: Jobs,
    /,
    *,
    reason: Reason = None,
    json: Json = False,
    database: Database = None,
) -> int:
    """Jobs wait until somebody resumes them."""
    return carry_out("hold", jobs, reason, json=json, database=database)
