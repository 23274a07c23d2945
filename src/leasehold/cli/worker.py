"""`leasehold worker app.jobs:app`: a worker against DATABASE_URL."""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from leasehold.cli import database as house
from leasehold.cli.log import begin_logging
from leasehold.cli.options import Database
from leasehold.cli.reload import Changes
from leasehold.errors import SettingsError
from leasehold.fleet.supervisor import Companion, Plan, Supervisor
from leasehold.maintain.leader import Leader

log = logging.getLogger("leasehold.worker")

Queue = Annotated[
    list[str] | None,
    Parameter(
        negative="", help="a queue to serve, may be given again; all that its tasks name, if absent"
    ),
]


def worker(
    target: Annotated[str, Parameter(help="the app, as module:attribute")],
    /,
    *,
    queue: Queue = None,
    runners: Annotated[int, Parameter(help="processes that run jobs")] = 1,
    concurrency: Annotated[int, Parameter(help="jobs side by side in each runner")] = 100,
    threads: Annotated[int, Parameter(help="of them in threads")] = 16,
    processes: Annotated[int, Parameter(help="of them in processes of their own")] = 2,
    grace: Annotated[float, Parameter(help="seconds that running jobs have when it stops")] = 20.0,
    reload: Annotated[
        bool, Parameter(negative="", help="start runners anew when code changes: for development")
    ] = False,
    verbose: Annotated[bool, Parameter(negative="", help="say more")] = False,
    database: Database = None,
) -> int:
    """Runs the jobs of an app until SIGTERM or Ctrl-C; a second one stops it at once."""
    level = logging.DEBUG if verbose else logging.INFO
    begin_logging(level)
    with house.opened(database) as found:
        dsn = found.address.dsn
        # The schema fits; a supervisor needs this connection no more.
        found.connection.close()
        return supervise(
            dsn, target, queues=queue, runners=runners, concurrency=concurrency, threads=threads,
            processes=processes, grace=grace, reload=reload, level=level,
        )  # fmt: skip


def supervise(
    dsn: str,
    target: str,
    *,
    queues: list[str] | None = None,
    runners: int = 1,
    concurrency: int = 100,
    threads: int = 16,
    processes: int = 2,
    grace: float = 20.0,
    reload: bool = False,
    level: int = logging.INFO,
    announce: Callable[[str], None] = lambda text: log.info("%s", text),
    beside: Sequence[Companion] = (),
) -> int:
    """Keeps runners up until a signal; `beside` lives from the first runner's start to the end."""
    from leasehold import __version__  # noqa: PLC0415

    _check(
        runners=runners, concurrency=concurrency, threads=threads, processes=processes, grace=grace
    )
    plan = Plan(
        dsn=dsn, target=target, version=__version__, runners=runners, slots=concurrency,
        grace=grace, level=level,
        pace={
            "queues": queues or [], "concurrency": concurrency, "threads": threads,
            "processes": processes, "grace": grace,
        },
    )  # fmt: skip
    # Whatever its tasks enqueue themselves goes where they came from.
    os.environ["DATABASE_URL"] = dsn
    changes = Changes(Path.cwd()) if reload else None

    def companions(number: int) -> list[Companion]:
        return [Leader(dsn, number), *beside]

    changed = changes.seen if changes else None
    exit_code = Supervisor(plan, companions, changed=changed, announce=announce).run()
    sys.stdout.flush()
    return exit_code


_MOST = {"runners": 256, "concurrency": 10_000, "threads": 1_000, "processes": 256}


def _check(*, grace: float, **numbers: int) -> None:
    for name, value in numbers.items():
        if not 1 <= value <= _MOST[name]:
            msg = f"--{name} takes 1 to {_MOST[name]}, got {value}"
            raise SettingsError(msg)
    if not 0 <= grace <= 3_600:  # noqa: PLR2004 - an hour
        msg = f"--grace takes 0 to 3600 seconds, got {grace:g}"
        raise SettingsError(msg)
