"""`leasehold purge TENANT`: a tenant leaves, with all that was kept of it."""

from typing import Annotated

from cyclopts import Parameter

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.cli.options import Database, Json
from leasehold.define import bounds
from leasehold.errors import SettingsError
from leasehold.operate import act


def purge(
    tenant: Annotated[str, Parameter(help="as it was given to `using(tenant=)`")],
    /,
    *,
    yes: Annotated[bool, Parameter(negative="", help="really: this cannot be undone")] = False,
    json: Json = False,
    database: Database = None,
) -> int:
    """A tenant's waiting jobs are cancelled, and payloads, history and dead letters go.

    Jobs that run are told to stop; call again when they have, until none is left.
    """
    bounds.text("tenant", tenant, 63)
    if not yes:
        msg = f"this deletes every job of tenant {tenant!r} for good: say --yes if you mean it"
        raise SettingsError(msg)
    gone = running = 0
    with house.asking(database) as ask, screen.progress("purging", None) as advance:
        for batch, running in act.purge(ask, tenant, house.actor()):  # noqa: B007 - the last counts
            gone += batch
            advance(batch)
    if json:
        screen.document({"gone": gone, "running": running})
    else:
        screen.say(f"{gone} jobs of {tenant} are gone")
        if running:
            screen.complain(
                f"{running} still run and were told to stop: purge again when they have"
            )
    return 1 if running else 0
