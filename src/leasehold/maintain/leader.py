"""One worker of the fleet leads: it moves what time moves.

A thread with a connection of its own.
"""

import logging
import random
import threading
import time
from typing import Final

from leasehold.errors import DatabaseError, LeaseholdError
from leasehold.maintain.duties import DUTIES, Duty
from leasehold.maintain.retire import retire
from leasehold.store import connect, verbs
from leasehold.store.drivers.psycopg import run_sync
from leasehold.store.watchdog import watchdog

log = logging.getLogger("leasehold.leader")

TICK: Final = 2.0
RETIRE: Final = 600.0
STATEMENT: Final = 60.0
SILENCE: Final = 10.0  # seconds after which a server that does not answer is taken for gone


class Leader:
    """Asks for the lead until it has it; then keeps asking, and runs the duties that are due."""

    def __init__(self, dsn: str, worker: int) -> None:
        self.dsn, self.worker = dsn, worker
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leasehold-leader", daemon=True)
        self.term: int | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with connect.connect_sync(self.dsn, timeout=STATEMENT) as connection:
                    self._lead(connection)
            except (DatabaseError, connect.Error) as error:
                self.term = None
                log.warning("the leader waits for the database: %s", error)
                self._stop.wait(0.5 + random.random())  # noqa: S311 - jitter
            except LeaseholdError:
                log.exception("a duty was refused")
                self._stop.wait(TICK)

    def _lead(self, connection: connect.Connection) -> None:
        due = dict.fromkeys((duty.name for duty in DUTIES), 0.0)
        pause = {duty.name: duty.every for duty in DUTIES}
        tick, retired = 0.0, time.monotonic()
        while not self._stop.is_set():
            now = time.monotonic()
            if now >= tick:
                with watchdog.guard(connection, SILENCE):
                    before, self.term = self.term, run_sync(connection, verbs.lead(self.worker))
                if self.term is not None and self.term != before:
                    log.info("leading, term %d", self.term)
                tick = now + TICK
            if self.term is None:
                self._stop.wait(TICK * (0.8 + 0.4 * random.random()))  # noqa: S311 - jitter
                continue
            for duty in DUTIES:
                if now >= due[duty.name] and not self._stop.is_set():
                    due[duty.name] = now + self._do(connection, duty, pause)
            if now - retired > RETIRE:
                retired = now
                retire(connection)
            self._stop.wait(max(min(*due.values(), tick) - time.monotonic(), 0.005))

    def _do(self, connection: connect.Connection, duty: Duty, pause: dict[str, float]) -> float:
        try:
            with watchdog.guard(connection, STATEMENT + 10):
                answer = run_sync(connection, duty.call())
        except (LeaseholdError, connect.Error):
            if connection.closed:
                raise
            # One duty that fails must not keep the others from being done.
            log.exception("the duty %s failed; it is tried again in %g s", duty.name, duty.idle)
            return duty.idle
        pause[duty.name] = (
            duty.every if duty.found(answer) else min(pause[duty.name] * 2, duty.idle)
        )
        soon = duty.wait(answer)
        return (
            pause[duty.name] if soon is None else max(min(soon, pause[duty.name], duty.idle), 0.005)
        )
