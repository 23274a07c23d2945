"""Workers as people start them: `leasehold worker` in a folder with a module of tasks."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leasehold.store.connect import connect_sync

PROGRAM = str(Path(sys.executable).with_name("leasehold"))

JOBS = '''\
import asyncio, os, subprocess, time
from pathlib import Path
from leasehold import App, Retry, current_job

app = App()
HERE = Path(__file__).parent


@app.task
async def add(a: int, b: int) -> int:
    return a + b


@app.task
async def holds(name: str) -> str:
    """Runs until the file `go` is there."""
    with open(HERE / f"{name}.began", "a") as began:
        began.write(f"{os.getpid()} {current_job().claim_no}\\n")
    while not (HERE / "go").exists():
        await asyncio.sleep(0.02)
    return name


@app.task(exclusive=True)
async def alone(name: str) -> str:
    return await holds(name)


@app.task
def terminates() -> int:
    program = subprocess.Popen(["sleep", "30"])
    program.terminate()
    try:
        return program.wait(5)
    finally:
        program.kill()


@app.task
async def blocks(name: str) -> None:
    (HERE / f"{name}.began").write_text(str(os.getpid()))
    while not (HERE / "go").exists():
        time.sleep(0.02)


@app.task(run="process")
def apart(name: str) -> None:
    (HERE / f"{name}.began").write_text(str(os.getpid()))
    while not (HERE / "go").exists():
        time.sleep(0.02)
'''


def until(true: Callable[[], Any], seconds: float = 30) -> Any:
    """Looks often, so that a test takes as long as what it waits for."""
    ends = time.monotonic() + seconds
    while not (found := true()):
        if time.monotonic() > ends:
            raise AssertionError("it did not happen")
        time.sleep(0.02)
    return found


class Worker:
    def __init__(self, crew: "Crew", command: list[str]) -> None:
        self.crew = crew
        self._log = crew.folder / f"log{len(crew.workers)}"
        env = {**os.environ, "DATABASE_URL": crew.dsn, "PYTHONDONTWRITEBYTECODE": "1"}
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=crew.folder, env=env, stdout=log, stderr=log
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self._log.read_text(), re.DOTALL)

    def log(self) -> str:
        return self._log.read_text()

    def hears(self, number: int) -> None:
        self.process.send_signal(number)

    def ends(self, seconds: float = 30) -> int:
        return self.process.wait(seconds)

    def children(self) -> list[int]:
        return family(self.pid)[1:]


def family(pid: int) -> list[int]:
    """The process and all below it."""
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(found for child in below for found in family(int(child)))]


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Crew:
    """The workers of one test on one database, in one folder."""

    def __init__(self, folder: Path, dsn: str, module: str = JOBS) -> None:
        self.folder, self.dsn, self.workers = folder, dsn, list[Worker]()
        self._seen: set[int] = set()
        (folder / "jobs.py").write_text(module)

    def worker(self, *options: str, target: str = "jobs:app", ready: bool = True) -> Worker:
        worker = Worker(self, [PROGRAM, "worker", target, "--database", self.dsn, *options])
        self.workers.append(worker)
        if ready:
            until(lambda: worker.said(r"runner \d+ serves") or worker.process.poll() is not None)
            assert worker.process.poll() is None, worker.log()
        return worker

    def program(self, text: str) -> Worker:
        worker = Worker(self, [sys.executable, "-c", text, self.dsn])
        self.workers.append(worker)
        return worker

    def runners(self) -> dict[int, int]:
        """The numbers and pids of those that live."""
        with connect_sync(self.dsn) as connection:
            sql = "select id, pid from leasehold.runner where dead_at is null order by id"
            return dict(connection.execute(sql).fetchall())

    def began(self, name: str) -> list[str]:
        path = self.folder / f"{name}.began"
        return path.read_text().splitlines() if path.exists() else []

    def go(self) -> None:
        (self.folder / "go").touch()

    def watch(self) -> None:
        """Remembers who is there now, for the question who is left at the end."""
        for worker in self.workers:
            self._seen |= set(family(worker.pid))

    def left_behind(self) -> list[int]:
        return [pid for pid in self._seen if is_there(pid)]

    def end(self) -> None:
        for worker in self.workers:
            for pid in family(worker.pid):
                with_signal(pid, signal.SIGKILL)
            worker.process.wait()
        for pid in self.left_behind():
            with_signal(pid, signal.SIGKILL)


def with_signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
