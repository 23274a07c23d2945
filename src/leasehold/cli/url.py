"""`leasehold url`: the database's address, for psql and whatever else takes one."""

import os
from pathlib import Path

from leasehold.cli import screen
from leasehold.cli.database import is_address
from leasehold.cli.options import Database
from leasehold.errors import SettingsError, Unreachable
from leasehold.store.embedded import Server, default_home


def url(*, database: Database = None) -> int:
    """Prints the address of the database; starts none. It may hold a password."""
    said = database or os.environ.get("DATABASE_URL") or str(default_home())
    screen.say(said if is_address(said) else _of_the_embedded(Path(said).absolute()))
    return 0


def _of_the_embedded(home: Path) -> str:
    if not home.is_dir():
        msg = (
            f"no database: there is no folder {home}; set DATABASE_URL, say --database, or start "
            "one in this folder with `leasehold up`"
        )
        raise SettingsError(msg)
    server = Server(home)
    if not server.running():
        msg = (
            f"the embedded Postgres of {home} does not run: it does while something uses it, such "
            "as `leasehold up` or `leasehold worker`"
        )
        raise Unreachable(msg)
    try:
        return server.start()  # joins: whoever keeps it up goes on doing so
    finally:
        server.leave()
