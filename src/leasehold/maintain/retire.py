"""Finished days leave by dropped partitions: no mass DELETE, no vacuum storm.

DETACH … CONCURRENTLY runs in no function and no transaction, so this one duty is a few statements
here. Each may be the last one that runs: the next leader finds the day as it was left, and goes on.
"""

import logging

from leasehold.store import connect, verbs
from leasehold.store.detach import detach, drop
from leasehold.store.drivers.psycopg import run_sync

log = logging.getLogger("leasehold.leader")

MOST = 400  # days in one go


def retire(connection: connect.Connection) -> int:
    """Retires every day past its keep; answers how many."""
    for done in range(MOST):
        day = run_sync(connection, verbs.retire())
        if day is None:
            return done
        job_table, attempt_table = day
        if not (
            detach(connection, "job", job_table) and detach(connection, "attempt", attempt_table)
        ):
            log.info("%s is still in use: it is retired another time", job_table)
            return done
        run_sync(connection, verbs.retire_rest(job_table, attempt_table))
        drop(connection, [job_table, attempt_table])
        log.info("%s is retired", job_table)
    return MOST
