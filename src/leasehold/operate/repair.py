"""What `doctor --fix` mends: only what a person could do with one safe command."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from leasehold.operate.finding import Finding
from leasehold.store import verbs
from leasehold.store.connect import Connection
from leasehold.store.drivers.psycopg import run_sync
from leasehold.store.migrate import migrate


def _migrate(connection: Connection) -> str:
    done = migrate(connection)
    return f"migrated: {', '.join(done) or 'functions and rights are those of this release'}"


def _partition(connection: Connection) -> str:
    return f"made {run_sync(connection, verbs.partition())} tables for the days ahead"


FIXES: Final[Mapping[str, Callable[[Connection], str]]] = {
    "migrate": _migrate,
    "partition": _partition,
}


def repair(connection: Connection, findings: Iterable[Finding]) -> list[str]:
    """Each repair once; says what was done."""
    wanted = dict.fromkeys(finding.fix for finding in findings if finding.fix in FIXES)
    return [FIXES[name](connection) for name in wanted if name]
