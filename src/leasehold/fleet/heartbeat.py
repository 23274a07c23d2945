"""One heartbeat for all runners of a worker: keeps their leases, tells them what changed.

A thread with a connection of its own.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from leasehold.errors import DatabaseError, LeaseholdError
from leasehold.store import connect, verbs
from leasehold.store.drivers.psycopg import run_sync
from leasehold.store.watchdog import watchdog

log = logging.getLogger("leasehold.worker")

SILENCE = 10.0  # seconds after which a server that does not answer is taken for gone
STATEMENT = 4.0  # seconds a beat may take on the server
# Seconds; far less than the ten after which a bundle that its runner does not name goes back.
FRESH = 3.0
MARGIN = 8.0  # seconds before a lease's end: a worker not answered until then counts it as over


class Member(Protocol):
    """A runner, seen from the heartbeat."""

    def report(self) -> dict[str, Any]: ...

    def hear(self, news: Mapping[str, Any]) -> None: ...


class Heartbeat:
    """Asks `members` at each beat, six beats to a lease: five may be lost."""

    def __init__(
        self, dsn: str, worker: int, lease: float, members: Callable[[], Sequence[Member]]
    ) -> None:
        self.dsn, self.worker, self.lease, self.members = dsn, worker, lease, members
        self.every = lease / 6
        self._wanted = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="leasehold-heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def beat_now(self) -> None:
        self._wanted.set()

    def stop(self) -> None:
        self._stopped = True
        self._wanted.set()
        self._thread.join(timeout=STATEMENT + 1)

    def _run(self) -> None:
        connection: connect.Connection | None = None
        while not self._stopped:
            self._wanted.wait(self.every * (0.9 + 0.2 * random.random()))  # noqa: S311 - jitter
            self._wanted.clear()
            if self._stopped:
                break
            try:
                if connection is None or connection.closed:
                    connection = connect.connect_sync(self.dsn, timeout=STATEMENT)
                with watchdog.guard(connection, SILENCE):
                    self._beat(connection)
            except (DatabaseError, connect.Error) as error:
                log.warning("the heartbeat did not get through: %s", error)
                _drop(connection)
                connection = None
            except LeaseholdError:
                log.exception("the heartbeat was refused")
        _drop(connection)

    def _beat(self, connection: connect.Connection) -> None:
        members = list(self.members())
        reports = [(member, member.report()) for member in members]
        if not reports:
            return
        tally = [entry for _, report in reports for entry in report.pop("tally", ())]
        saved = [
            (report["id"], entries)
            for _, report in reports
            if (entries := report.pop("saved", None))
        ]
        sent = time.monotonic()
        news: dict[str, Any] = run_sync(
            connection, verbs.beat(self.worker, [report for _, report in reports], tally)
        )
        news["until"] = trusted_until(sent, self.lease)
        for member, _ in reports:
            member.hear(news)
        for runner, entries in saved:
            run_sync(connection, verbs.save(runner, entries))


def trusted_until(sent: float, lease: float) -> float:
    """Counted from before the beat was sent, and some seconds short.

    Whoever trusts it stops before anybody else can begin.
    """
    return sent + lease - min(MARGIN, lease / 4)


def _drop(connection: connect.Connection | None) -> None:
    if connection is not None:
        connection.close()
