"""A runner as its supervisor sees it: a process, a socket to talk on, shared memory to watch it."""

import contextlib
import logging
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import IO, Any, Final
from uuid import UUID

import msgspec

from leasehold.fleet.heartbeat import FRESH
from leasehold.observe.board import Board

log = logging.getLogger("leasehold.worker")

BLOCKED: Final = 5.0  # seconds after which a loop that does not turn is named
MESSAGE_MOST: Final = 64 * 1024 * 1024  # bytes that may wait for a runner to read them


class RunnerProcess:
    """Started with what it must know; from then on both sides send lines of JSON."""

    def __init__(self, hello: Mapping[str, Any], slots: int) -> None:
        self.number: int | None = None
        self.started = time.monotonic()
        self.stopping_since: float | None = None
        self.failure: str | None = None
        self.misnamed = False  # the failure is that of whoever wrote the command
        self.named_at = 0.0
        self.importing = False  # what hangs from here on is user code, and can show its stack
        self._report: dict[str, Any] = {}
        self._saved: list[Any] = []
        self._tally: list[Any] = []
        self._buffer = b""
        self._unsent = bytearray()
        self._sending = threading.Lock()  # the heartbeat's thread speaks on the same wire
        self._stacks: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - open until close()
        self.wire, theirs = socket.socketpair()
        with theirs, tempfile.TemporaryFile() as memory:
            memory.truncate(Board.size(slots))
            self.board = Board(mmap.mmap(memory.fileno(), Board.size(slots)), slots)
            fds = (theirs.fileno(), memory.fileno(), self._stacks.fileno())
            self.process = subprocess.Popen(  # noqa: S603 - this Python, a module of ours, numbers
                [sys.executable, "-m", "leasehold.cli.runner", *map(str, fds)],
                pass_fds=fds,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
            )
        self.wire.setblocking(False)
        self.tell({"hello": dict(hello)})

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def tell(self, message: Mapping[str, Any]) -> None:
        """Never waits: what a runner does not read now goes out later, before anything else."""
        line = msgspec.json.encode(message) + b"\n"
        with self._sending:
            self._unsent += line
        self.send_rest()

    def send_rest(self) -> None:
        """A runner that is gone is found out by other means."""
        with self._sending:
            try:
                while self._unsent:
                    del self._unsent[: self.wire.send(self._unsent)]
            except BlockingIOError:
                if len(self._unsent) <= MESSAGE_MOST:
                    return
                log.warning("runner %s has stopped reading: it is killed", self.number)
                self.kill()
            except OSError:
                self._unsent.clear()

    def said(self) -> list[dict[str, Any]]:
        """The messages that have arrived; empty also at the end."""
        while True:
            try:
                got = self.wire.recv(1 << 20)
            except BlockingIOError:
                break
            except OSError:
                got = b""
            if not got:
                break
            self._buffer += got
        *lines, self._buffer = self._buffer.split(b"\n")
        return [msgspec.json.decode(line) for line in lines]

    def keep(self, report: dict[str, Any]) -> None:
        """The newest report; what must not be lost on the way is gathered until the next beat."""
        self._saved += report.pop("saved", ())
        self._tally += report.pop("tally", ())
        self._report = report

    # What the heartbeat asks of it.

    def report(self) -> dict[str, Any]:
        saved, self._saved = self._saved, []
        tally, self._tally = self._tally, []
        known = {
            "id": self.number,
            # Of a loop that does not turn nobody knows what it claimed last: None says so.
            "bundles": self._report["bundles"] if self._fresh() else None,
            "loop_age": self.board.age(),
            "begun": self.board.begun(),
        }
        return {**known, "saved": saved, "tally": tally}

    def _fresh(self) -> bool:
        return time.monotonic() - float(self._report.get("at", 0)) < FRESH

    def hear(self, news: Mapping[str, Any]) -> None:
        self.tell({"news": dict(news)})

    # What its supervisor does with it.

    def begun(self) -> list[UUID]:
        return self.board.begun()

    def stop(self, grace: float) -> None:
        """One that has not been hired has no job to finish, and may hang in an import."""
        if self.stopping_since is not None:
            return
        self.stopping_since = time.monotonic()
        if self.number is None:
            self.kill()
        else:
            self.tell({"stop": grace})

    def kill(self) -> None:
        """The process and whatever it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def blocked_by(self) -> str:
        """The stacks of a runner whose loop does not turn.

        Written by the C code of faulthandler, which needs no turn.
        """
        stacks = self._stacks.fileno()
        os.lseek(stacks, 0, os.SEEK_SET)
        os.ftruncate(stacks, 0)
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGUSR1)
        ends = time.monotonic() + 1.0
        before, text = b"", b""
        while time.monotonic() < ends and not (text and text == before):
            time.sleep(0.05)
            # pread: to move the place both share would make the runner write over what it wrote.
            before, text = text, os.pread(stacks, 1 << 20, 0)
        return text.decode(errors="replace").strip()

    def close(self) -> None:
        self.wire.close()
        self._stacks.close()
