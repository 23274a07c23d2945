"""Frees threads that wait for a server which has gone silent.

A driver's own time-out waits for the server too, and keepalives see a live kernel: only closing the
socket from outside helps.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from leasehold.store.connect import Connection, sever

LOOK = 1.0  # seconds between two looks


class Watchdog:
    """One thread for all connections of a process, alive while something is guarded."""

    def __init__(self) -> None:
        self._due: dict[int, tuple[float, Connection]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def guard(self, connection: Connection, seconds: float) -> Iterator[None]:
        """The block may take so long; then the connection is cut, and the call in it raises."""
        key = id(connection)
        with self._lock:
            self._due[key] = (time.monotonic() + seconds, connection)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="leasehold-watchdog", daemon=True
                )
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._due.pop(key, None)

    def _watch(self) -> None:
        idle = 0
        while True:
            time.sleep(LOOK)
            with self._lock:
                now = time.monotonic()
                late = [key for key, (due, _) in self._due.items() if due < now]
                for key in late:
                    sever(self._due.pop(key)[1])
                idle = 0 if self._due else idle + 1
                if idle > 60:  # noqa: PLR2004 - looks without anything to guard
                    self._thread = None
                    return


watchdog = Watchdog()
