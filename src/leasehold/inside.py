"""A worker inside somebody's own process: one runner, its heartbeat and the leader in threads."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from leasehold.define.task import Definition
from leasehold.fleet.heartbeat import FRESH, Heartbeat
from leasehold.maintain.leader import Leader
from leasehold.observe.board import Board
from leasehold.runner.run import Pace, Runner
from leasehold.store import connect, verbs
from leasehold.store.drivers.psycopg import run_sync


@asynccontextmanager
async def work_inside(
    dsn: str, tasks: Mapping[str, Definition], pace: Pace, version: str
) -> AsyncIterator[Runner]:
    """Works until the block ends; then what runs gets its grace."""
    with _membership(dsn, tasks, pace, version, asyncio.get_running_loop()) as runner:
        running = asyncio.create_task(runner.run())
        try:
            yield runner
        finally:
            runner.stop()
            await running


@contextmanager
def _membership(
    dsn: str,
    tasks: Mapping[str, Definition],
    pace: Pace,
    version: str,
    loop: asyncio.AbstractEventLoop,
) -> Iterator[Runner]:
    with connect.connect_sync(dsn) as connection:
        here = (os.getpid(), socket.gethostname(), version)
        worker = run_sync(connection, verbs.enrol(*here, list(pace.queues), sorted(tasks)))
        number, lease = run_sync(connection, verbs.hire(worker, os.getpid()))
    board = Board(bytearray(Board.size(pace.concurrency)), pace.concurrency)
    runner = Runner(tasks, dsn, number, board, pace)
    heartbeat = Heartbeat(dsn, worker, lease, lambda: [_Seat(runner, board, loop)])
    runner.beat_now = heartbeat.beat_now
    leader = Leader(dsn, worker)
    heartbeat.start()
    leader.start()
    try:
        yield runner
    finally:
        heartbeat.stop()
        leader.stop()
        with connect.connect_sync(dsn) as connection:
            run_sync(connection, verbs.beat(worker, [], runner.report()["tally"]))
            run_sync(connection, verbs.leave(worker))


class _Seat:
    """The runner, seen from the heartbeat's thread."""

    def __init__(self, runner: Runner, board: Board, loop: asyncio.AbstractEventLoop) -> None:
        self._runner, self._board, self._loop = runner, board, loop

    def report(self) -> dict[str, Any]:
        age = self._board.age()
        seen: dict[str, Any] = {"loop_age": age, "begun": self._board.begun()}
        if age > FRESH:  # it may have claimed what it has not read yet: None says that nobody knows
            seen["bundles"] = None
        return {**self._runner.report(), **seen}

    def hear(self, news: Mapping[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._runner.hear, news)
