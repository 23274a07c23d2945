"""Who uses the server: counted by the kernel, so that a killed process is never counted."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leasehold.errors import ServerFailed

WAIT_LIMIT = 660  # a start that recovers from a crash may hold start.lock for ten minutes


class Seat:
    """users.lock is held shared by all who sit; start.lock by the one who is coming or going."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._start = open_lock(home / "start.lock")
        self._users = open_lock(home / "users.lock")
        self._process = os.getpid()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else comes or goes meanwhile."""
        deadline = time.monotonic() + WAIT_LIMIT
        while not take(self._start, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                said = f"another process held start.lock for {WAIT_LIMIT} s"
                raise ServerFailed("waiting for our turn", said, self._home / "postgres.log")
            time.sleep(0.01)
        try:
            yield
        finally:
            fcntl.flock(self._start, fcntl.LOCK_UN)

    def sit(self) -> None:
        fcntl.flock(self._users, fcntl.LOCK_SH)

    def is_last(self) -> bool:
        """True if nobody else sits; to be asked while alone."""
        return take(self._users, fcntl.LOCK_EX)

    def is_inherited(self) -> bool:
        """A fork shares its parent's locks: what it gives up, the parent loses."""
        return self._process != os.getpid()

    def close(self) -> None:
        os.close(self._users)
        os.close(self._start)


def open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def take(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
