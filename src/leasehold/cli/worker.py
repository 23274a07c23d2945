"""`leasehold worker app.jobs:app`: a worker against DATABASE_URL."""

import logging
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from leasehold.cli.log import begin_logging
from leasehold.cli.reload import Changes
from leasehold.errors import SettingsError
from leasehold.fleet.supervisor import Companion, Plan, Supervisor
from leasehold.maintain.leader import Leader
from leasehold.store.address import Address


def worker(
    target: str,
    /,
    *,
    queue: Annotated[list[str] | None, Parameter(help="a queue to serve; may be given again. All that the app's tasks name when left out")] = None,
    runners: Annotated[int, Parameter(help="processes that run jobs")] = 1,
    concurrency: Annotated[int, Parameter(help="jobs side by side in each runner")] = 100,
    threads: Annotated[int, Parameter(help="of them in threads")] = 16,
    processes: Annotated[int, Parameter(help="of them in processes of their own")] = 2,
    grace: Annotated[float, Parameter(help="seconds that running jobs have when the worker stops")] = 20.0,
    reload: Annotated[bool, Parameter(help="start the runners anew when code changes: for development")] = False,
    database: Annotated[str | None, Parameter(help="address or folder; DATABASE_URL when left out")] = None,
    verbose: bool = False,
) -> int:
    """Runs the jobs of an app until SIGTERM or Ctrl-C."""
    begin_logging(verbose=verbose)
    address = Address(database)
    address.open()
    try:
        return supervise(
            address.dsn, target, queues=queue, runners=runners, concurrency=concurrency, threads=threads, processes=processes, grace=grace,
            reload=reload,
        )  # fmt: skip
    finally:
        address.close()


def supervise(
    dsn: str, target: str, *, queues: list[str] | None, runners: int, concurrency: int, threads: int, processes: int, grace: float, reload: bool
) -> int:
    from leasehold import __version__  # noqa: PLC0415

    for name, value, most in (("runners", runners, 256), ("concurrency", concurrency, 10_000), ("threads", threads, 1_000), ("processes", processes, 256)):
        if not 1 <= value <= most:
            msg = f"--{name} takes 1 to {most}, got {value}"
            raise SettingsError(msg)
    if not 0 <= grace <= 3_600:  # noqa: PLR2004 - an hour
        msg = f"--grace takes 0 to 3600 seconds, got {grace:g}"
        raise SettingsError(msg)
    plan = Plan(
        dsn=dsn, target=target, version=__version__, runners=runners, slots=concurrency, grace=grace,
        pace={"queues": queues or [], "concurrency": concurrency, "threads": threads, "processes": processes, "grace": grace},
    )  # fmt: skip
    changes = Changes(Path.cwd()) if reload else None

    def companions(number: int) -> list[Companion]:
        return [Leader(dsn, number)]

    log = logging.getLogger("leasehold.worker")
    supervisor = Supervisor(plan, companions, changed=changes.seen if changes else (lambda: False), announce=lambda text: log.info("%s", text))
    code = supervisor.run()
    sys.stdout.flush()
    return code
