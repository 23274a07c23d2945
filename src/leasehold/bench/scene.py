"""Where a benchmark plays: one database, workers as users start them, what the server counted."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from leasehold.errors import LeaseholdError
from leasehold.store import connect, probe
from leasehold.store.drivers.psycopg import run_sync
from leasehold.store.migrate import migrate

PATIENCE = 120.0


class BenchFailed(LeaseholdError):
    """A benchmark did not come to its end."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What something cost the server."""

    seconds: float
    wal: int
    commits: int
    server_cpu: float


class Scene:
    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.connection = connect.connect_sync(dsn)
        migrate(self.connection)

    def close(self) -> None:
        self.connection.close()

    def clear(self) -> None:
        """Every job is gone, every file written: each measurement begins alike."""
        probe.clear(self.connection)

    @contextmanager
    def workers(self, runners: int) -> Iterator[subprocess.Popen[bytes]]:
        """A supervisor with its runners, as `leasehold worker` starts it."""
        worker = subprocess.Popen(  # noqa: S603 - this Python, a module of ours, a number
            [sys.executable, "-m", "leasehold.bench.work", str(runners)],
            env={**os.environ, "LEASEHOLD_BENCH_DATABASE": self.dsn},
            stdin=subprocess.DEVNULL,
        )
        try:
            yield worker
        finally:
            worker.send_signal(signal.SIGTERM)
            try:
                worker.wait(timeout=30)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()

    def until(self, what: str, done: int) -> None:
        """Until so many attempts are written."""
        ends = time.monotonic() + PATIENCE
        while probe.ended(self.connection) < done:
            if time.monotonic() > ends:
                had = probe.ended(self.connection)
                msg = f"{what}: only {had} of {done} jobs had ended after {PATIENCE:g} s"
                raise BenchFailed(msg)
            time.sleep(0.25)  # counting is work for the same server

    @contextmanager
    def counted(self) -> Iterator[list[Spent]]:
        """The list holds one entry after the block."""
        spent: list[Spent] = []
        before, cpu = probe.counters(self.connection), probe.server_cpu(self.connection)
        start = time.perf_counter()
        yield spent
        seconds = time.perf_counter() - start
        after = probe.counters(self.connection)
        wal, commits = after.wal - before.wal, after.commits - before.commits
        spent.append(Spent(seconds, wal, commits, probe.server_cpu(self.connection) - cpu))

    def ask(self, call: object) -> object:
        return run_sync(self.connection, call)  # type: ignore[arg-type]
