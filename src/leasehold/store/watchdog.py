"""Frees threads that wait for a server which has gone silent.

A driver's own time-out waits for the server too, and keepalives see a live kernel: only closing the
socket from outside helps.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

Connection = psycopg.Connection[Any]

LOOK = 1.0  # seconds between two looks


def sever(connection: psycopg.AsyncConnection[Any] | Connection) -> None:
    """Ends a connection whose server is silent: closing politely would wait for its answer."""
    with (
        contextlib.suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as wire,
    ):
        wire.shutdown(socket.SHUT_RDWR)


class Watchdog:
    """One thread for all connections of a process, alive while something is guarded."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """In a forked child the thread is missing, and the lock may be held by one that is."""
        self._due: dict[int, tuple[float, Connection]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def guard(self, connection: Connection, seconds: float) -> Iterator[Callable[[], None]]:
        """The block may take so long; then the connection is cut, and the call in it raises.

        What it yields is called whenever the server has shown that it lives: from then on the block
        has its whole time again.
        """
        key = id(connection)

        def count_anew() -> None:
            with self._lock:
                if key in self._due:
                    self._due[key] = (time.monotonic() + seconds, connection)

        with self._lock:
            self._due[key] = (time.monotonic() + seconds, connection)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="leasehold-watchdog", daemon=True
                )
                self._thread.start()
        try:
            yield count_anew
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
os.register_at_fork(after_in_child=watchdog.begin_anew)
