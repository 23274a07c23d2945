"""`leasehold explain JOB`: why it has not run, or why it failed, and what to do next."""

from typing import Annotated

from cyclopts import Parameter

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.cli.options import Database, Json
from leasehold.operate import find
from leasehold.operate.explain import explain as reason_of


def explain(
    job: Annotated[str, Parameter(help="its id, the caller's own name for it, or its key")],
    /,
    *,
    json: Json = False,
    database: Database = None,
) -> int:
    """Says in a sentence why a job has not run or why it failed, and what to do next."""
    with house.asking(database) as ask:
        found = reason_of(ask, find.one(ask, job).id)
    if json:
        screen.document(found)
        return 0
    screen.words((str(found.job), "bold"), "  ", screen.state(found.state))
    screen.say(f"  {found.text}.")
    if found.next:
        screen.words("  next: ", (found.next, "bold"))
    return 0
