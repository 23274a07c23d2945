"""The first minute: `leasehold up` in a terminal, from nothing to Ctrl-C."""

import os
import re
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from cli.conftest import PROGRAM
from leasehold.store.embedded import Server, default_home

ROOT = Path(__file__).parents[2]
LIMIT = 60  # seconds for a machine under load; about ten are needed
# What a shell does for its children: the terminal's Ctrl-C is for this session.
IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A program at a terminal; `read` returns all that was shown, once `until` is among it."""

    def __init__(self, *command: str, cwd: Path, **environment: str) -> None:
        self.shown = ""
        self._ours, theirs = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", IN_TERMINAL, *command], cwd=cwd, stdin=theirs, stdout=theirs,
            stderr=theirs, env={**os.environ, **environment}, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self._ends = time.monotonic() + LIMIT

    def read(self, until: str | None = None) -> str:
        while until is None or until not in self.shown:
            left = self._ends - time.monotonic()
            assert left > 0, f"no {until!r} within {LIMIT} s:\n{self.shown}"
            if not select.select([self._ours], [], [], left)[0]:
                continue
            try:
                got = os.read(self._ours, 65_536)
            except OSError:  # the last one at the other end has left
                got = b""
            if not got:
                assert until is None, f"it ended without {until!r}:\n{self.shown}"
                break
            self.shown += re.sub(r"\x1b\[[0-9;]*m", "", got.decode()).replace("\r\n", "\n")
        return self.shown

    def press(self, key: bytes) -> None:
        os.write(self._ours, key)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def folder(tmp_path):
    """An empty folder with our examples; the server's data goes with it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    yield tmp_path
    server = Server(default_home(tmp_path))
    left = server.running()
    if left:  # also then nothing stays on this machine
        server.start()
        server.leave()
    shutil.rmtree(server.place.folder, ignore_errors=True)
    assert not left


def processes_with(mark: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
def test_from_nothing_to_ended_sample_jobs_and_away_again_by_ctrl_c(folder):
    mark = f"LEASEHOLD_MARK_{uuid4().hex}"
    plain = {"DATABASE_URL": "", mark: "1", "TERM": "xterm", "COLUMNS": "160"}
    terminal = Terminal(str(PROGRAM), "up", "examples.welcome:app", cwd=folder, **plain)
    try:
        shown = terminal.read("Ctrl-C here stops everything")
        assert len(processes_with(mark)) == 2  # the worker and its runner; Postgres has no mark
        terminal.press(b"\x03")
        terminal.read()
        assert terminal.process.wait(timeout=LIMIT) == 0, terminal.shown
    finally:
        terminal.close()
    assert processes_with(mark) == []
    for said in (
        r"succeeded\s+welcome\(user_id=1\)",
        r"succeeded\s+report\(pages=4\)",
        r"succeeded\s+newsletter\(list_name=\"everybody\"\)  .*run 2",
        r"failed\s+invoice\(amount=100\)  ValueError: cannot book 100",
        r"cancelled\s+goodbye\(user_id=7\)  user 7 has come back",
        r"scheduled\s+welcome\(user_id=2\)  in 60m",
        r"leasehold explain [0-9a-f-]{36}",
    ):
        assert re.search(said, shown), f"{said} in\n{shown}"
    assert "Traceback" not in terminal.shown
    assert "stopped" in terminal.shown
