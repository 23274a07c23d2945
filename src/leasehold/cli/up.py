"""`leasehold up`: Postgres, a worker and sample jobs in one go, until Ctrl-C."""

import logging
import os
import sys
import time
from pathlib import Path
from typing import Annotated
from uuid import UUID

from cyclopts import Parameter

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.cli.log import begin_logging
from leasehold.cli.options import Database
from leasehold.cli.samples import Samples
from leasehold.cli.worker import Queue, supervise
from leasehold.store import connect
from leasehold.store.address import Address
from leasehold.store.embedded import default_home

SAMPLE = "leasehold.cli.sample:app"


def up(
    target: Annotated[
        str, Parameter(help="the app, as module:attribute; a sample app if absent")
    ] = SAMPLE,
    /,
    *,
    queue: Queue = None,
    runners: Annotated[int, Parameter(help="processes that run jobs")] = 1,
    concurrency: Annotated[int, Parameter(help="jobs side by side in each runner")] = 100,
    grace: Annotated[float, Parameter(help="seconds that running jobs have when it stops")] = 5.0,
    sample: Annotated[bool, Parameter(help="enqueue what the app's `sample` function says")] = True,
    reload: Annotated[bool, Parameter(help="start runners anew when code changes")] = True,
    verbose: Annotated[bool, Parameter(negative="", help="show the worker's log")] = False,
    database: Database = None,
) -> int:
    """Starts everything there is, with an embedded Postgres unless DATABASE_URL names one."""
    from leasehold import __version__  # noqa: PLC0415

    level = logging.DEBUG if verbose else logging.WARNING
    begin_logging(level)
    screen.words(("leasehold", "bold"), f" {__version__}")
    began = time.monotonic()
    # Whoever types `up` wants a Postgres here: an embedded one needs no other sign of it.
    address = Address(database or os.environ.get("DATABASE_URL") or str(default_home()))
    address.open()
    try:
        _greet(address, database, time.monotonic() - began)
        where = f" --database {database}" if database else ""
        named = not address.embedded and not database
        same = "with the same DATABASE_URL" if named else "in this folder"

        def after(states: dict[str, UUID]) -> None:
            _next(states, where, same)

        beside = [Samples(address.dsn, target, after)] if sample else []
        return supervise(
            address.dsn, target, queues=queue, runners=runners, concurrency=concurrency,
            grace=grace, reload=reload, level=level, announce=_announce, beside=beside,
        )  # fmt: skip
    finally:
        address.close()
        screen.say("stopped")


def _greet(address: Address, database: str | None, took: float) -> None:
    with connect.connect_sync(address.dsn) as connection:
        house.check(connection, database)
        version = connection.info.server_version
        place = (
            "embedded in this folder's .leasehold"
            if address.embedded
            else f"database {connection.info.dbname}"
        )
        if address.embedded and database is not None:
            place = f"embedded in {database}"
    screen.say(
        f"Postgres {version // 10_000}.{version % 10_000}, {place}, ready after {took:.1f} s"
    )


def _announce(text: str) -> None:
    screen.say(text, "dim")


def _next(states: dict[str, UUID], where: str, same: str) -> None:
    """What to try, to be copied."""
    lines = [
        ("what waits, who works, how fast", "leasehold status"),
        ("the newest jobs", "leasehold jobs"),
    ]
    if job := states.get("failed"):
        lines += [
            ("why it failed, and what then", f"leasehold explain {job}"),
            ("its whole story", f"leasehold show {job} --trace"),
            ("let it run again", f"leasehold retry {job}"),
        ]
    if job := states.get("scheduled"):
        lines += [
            ("why it has not run", f"leasehold explain {job}"),
            ("it is not wanted any more", f"leasehold cancel {job}"),
        ]
    lines.append(("is all well here?", "leasehold doctor"))
    screen.say()
    screen.say(f"Try next, in another terminal {same}:", "bold")
    program = _program()
    typed = [
        (says, f"{command.replace('leasehold', program, 1)}{where}") for says, command in lines
    ]
    width = max(len(command) for _, command in typed)
    for says, command in typed:
        screen.words(f"  {command.ljust(width)}  ", (f"# {says}", "dim"))
    screen.say("Ctrl-C here stops everything.")


def _program() -> str:
    """How this very program is called where no environment is activated."""
    own = Path(sys.executable).with_name("leasehold")
    if os.environ.get("VIRTUAL_ENV") or not own.exists() or sys.prefix == sys.base_prefix:
        return "leasehold"
    here = Path.cwd()
    return str(own.relative_to(here)) if own.is_relative_to(here) else str(own)
