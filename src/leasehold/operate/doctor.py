"""What is wrong with the house: gathers the facts, asks every check, changes nothing.

The checks are functions of facts, in `check_schema`, `check_server` and `check_jobs`.
"""

from collections.abc import Callable, Iterator
from typing import Final

from leasehold.errors import AccessRefused, SchemaNewer
from leasehold.operate import check_jobs, check_schema, check_server
from leasehold.operate.ask import Ask
from leasehold.operate.finding import Finding
from leasehold.operate.status import status
from leasehold.store import migrate, reads
from leasehold.store.connect import Connection, Error
from leasehold.store.refusal import NOT_ALLOWED

NEWEST: Final = 2_000  # jobs that are looked at one by one


def examine(connection: Connection, ask: Ask, clock: Callable[[], float]) -> list[Finding]:
    """All findings, the gravest first. `clock` tells this machine's time, to compare."""
    try:
        installed = list(_installed(connection))
    except Error as error:
        if error.sqlstate != NOT_ALLOWED:
            raise
        refusal = "doctor looks at everything, and this user may not look"
        raise AccessRefused(refusal, "leasehold_reader") from None
    if any(finding.severity == "wrong" for finding in installed):
        return installed
    began = clock()
    server = ask(reads.health_server())
    server["distance"] = server["clock"] - (began + clock()) / 2
    schema = ask(reads.health_schema())
    jobs = ask(reads.health_jobs(NEWEST))
    found = [
        *installed,
        *(finding for check in check_server.CHECKS for finding in check(server)),
        *(finding for check in check_schema.CHECKS for finding in check(schema)),
        *check_jobs.jobs(jobs),
        *check_jobs.fleet(status(ask)),
    ]
    return sorted(found, key=lambda finding: ("wrong", "warning", "note").index(finding.severity))


def _installed(connection: Connection) -> Iterator[Finding]:
    done, known = (
        migrate.applied(connection),
        {script.number: script for script in migrate.migrations()},
    )
    if not done:
        yield Finding(
            code="schema_missing",
            severity="wrong",
            what="Leasehold's schema is not in this database",
            why="no job can be enqueued or run here",
            do="leasehold migrate",
            fix="migrate",
        )
    elif unknown := done - known.keys():
        yield Finding(
            code="schema_newer",
            severity="wrong",
            what=str(SchemaNewer(max(unknown), max(known))),
            why="an older release must not work on a newer schema",
            do="install the newer release here",
        )
    elif missing := [script.name for number, script in known.items() if number not in done]:
        yield Finding(
            code="schema_older",
            severity="wrong",
            what=f"the schema lacks {', '.join(missing)}",
            why="this release needs them",
            do="leasehold migrate",
            fix="migrate",
        )
