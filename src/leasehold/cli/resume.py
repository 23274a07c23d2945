"""`leasehold resume JOB...`"""

from leasehold.cli.options import Database, Jobs, Json, Reason
from leasehold.cli.verdicts import carry_out


def resume(
    jobs: Jobs,
    /,
    *,
    reason: Reason = None,
    json: Json = False,
    database: Database = None,
) -> int:
    """Held jobs go on."""
    return carry_out("resume", jobs, reason, json=json, database=database)
