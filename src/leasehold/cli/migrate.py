"""`leasehold migrate`: installs the schema, or brings it to this release."""

import sys
from typing import Annotated

from cyclopts import Parameter

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.cli.options import Database
from leasehold.errors import SettingsError
from leasehold.store import migrate as schema


def migrate(
    *,
    sql: Annotated[
        bool, Parameter(negative="", help="print the script for psql instead, needing no database")
    ] = False,
    dry_run: Annotated[bool, Parameter(negative="", help="only say what would be done")] = False,
    database: Database = None,
) -> int:
    """Brings the schema to this release; safe beside running workers, and to run twice."""
    if sql and dry_run:
        msg = "--sql only prints, so there is nothing to try: leave out one of --sql and --dry-run"
        raise SettingsError(msg)
    if sql:
        sys.stdout.write(schema.script())
        return 0
    with house.opened(database, any_schema=True) as found:
        missing = [script.name for script in schema.pending(found.connection)]
        if dry_run:
            screen.say(
                f"would apply {', '.join(missing)}" if missing else "the tables are up to date"
            )
            screen.say("would re-apply functions, views and rights, and make the days ahead")
            return 0
        done = schema.migrate(found.connection)
    screen.say(f"applied {', '.join(done)}" if done else "the tables were up to date")
    screen.say("functions, views and rights are this release's; the days ahead are made")
    return 0
