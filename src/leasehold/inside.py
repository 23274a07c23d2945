"""A worker inside somebody's own process: one runner, its heartbeat and the leader in threads."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final

from leasehold.define.task import Definition
from leasehold.errors import LeaseholdError, Unreachable
from leasehold.fleet.heartbeat import FRESH, Heartbeat, trusted_until
from leasehold.maintain.leader import Leader
from leasehold.observe.board import Board
from leasehold.runner.run import Pace, Runner
from leasehold.store import connect, verbs
from leasehold.store.call import Call
from leasehold.store.drivers.psycopg import run_sync
from leasehold.store.watchdog import watchdog

log = logging.getLogger("leasehold.worker")

BOUND: Final = 15.0  # seconds in which a worker has come, or gone, or given it up
ANSWER: Final = 5.0  # of them for what is asked on one connection
PAUSE: Final = 0.5  # seconds before the next runner follows one that has ended
PAUSE_MOST: Final = 10.0
YOUNG: Final = 10.0


@asynccontextmanager
async def work_inside(
    dsn: str, tasks: Mapping[str, Definition], pace: Pace, version: str
) -> AsyncIterator["Working"]:
    """Works until the block ends; then what runs gets its grace."""
    working = Working(dsn, tasks, pace, version)
    keeping = asyncio.create_task(working.keep(await working.joined()))
    try:
        yield working
    finally:
        working.stop()
        await keeping


class Working:
    """The worker, whichever runner works now: one that loses its lease is followed by another.

    A laptop that slept, or a loop that was blocked, finds its jobs given to somebody else.
    """

    def __init__(self, dsn: str, tasks: Mapping[str, Definition], pace: Pace, version: str) -> None:
        self._dsn, self._tasks, self._pace, self._version = dsn, tasks, pace, version
        self._stopping = asyncio.Event()
        self.runner: Runner

    @property
    def number(self) -> int:
        """The present runner's."""
        return self.runner.number

    def stop(self) -> None:
        """What runs gets its grace, and nothing new is claimed."""
        self._stopping.set()
        self.runner.stop()

    async def keep(self, member: "Member | None") -> None:
        """Runner after runner until `stop`; the pauses grow while they die young."""
        pause = PAUSE
        while True:
            began = time.monotonic()
            await self._live(member)
            if self._stopping.is_set():
                return
            if time.monotonic() - began > YOUNG:
                pause = PAUSE
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
                    return
            pause, member = min(pause * 2, PAUSE_MOST), None

    async def _live(self, member: "Member | None") -> None:
        try:
            member = member or await self.joined()
            await member.work()
        except (LeaseholdError, connect.Error) as error:
            log.error("the worker in this process waits for the database: %s", error)  # noqa: TRY400 - it says all
        except Exception:
            if self._stopping.is_set():
                raise
            log.exception("the runner in this process broke down: another one follows")
        else:
            if not self._stopping.is_set():
                log.error("the runner in this process lost its lease: another one follows")

    async def joined(self) -> "Member":
        """Known to the fleet, and not yet at work."""
        here = (os.getpid(), socket.gethostname(), self._version)
        enrol = verbs.enrol(*here, list(self._pace.queues), sorted(self._tasks))
        sent = time.monotonic()
        try:
            async with asyncio.timeout(BOUND):
                worker, number, lease = await asyncio.to_thread(_hire, self._dsn, enrol)
        except TimeoutError as error:
            msg = f"the database did not answer a worker that began within {BOUND:g} s"
            raise Unreachable(msg) from error
        board = Board(bytearray(Board.size(self._pace.concurrency)), self._pace.concurrency)
        self.runner = Runner(self._tasks, self._dsn, number, board, self._pace)
        self.runner.hear({"until": trusted_until(sent, lease)})
        if self._stopping.is_set():
            self.runner.stop()
        return Member(worker, lease, self.runner, board)


class Member:
    """One runner's time in the fleet, with the threads that keep it there."""

    def __init__(self, worker: int, lease: float, runner: Runner, board: Board) -> None:
        self._worker, self._runner = worker, runner
        seat = _Seat(runner, board, asyncio.get_running_loop())
        self._heartbeat = Heartbeat(runner.dsn, worker, lease, lambda: [seat])
        self._leader = Leader(runner.dsn, worker)
        runner.beat_now = self._heartbeat.beat_now

    async def work(self) -> None:
        """Until the runner ends, told or not."""
        self._heartbeat.start()
        self._leader.start()
        try:
            await self._runner.run()
        finally:
            await self._leave()

    async def _leave(self) -> None:
        """In threads and within a bound: the loop is somebody's, and its server may be silent."""
        threads = self._heartbeat, self._leader
        try:
            async with asyncio.timeout(BOUND):
                await asyncio.gather(*(asyncio.to_thread(thread.stop) for thread in threads))
                tally = self._runner.report()["tally"]
                await asyncio.to_thread(_say_goodbye, self._runner.dsn, self._worker, tally)
        except (TimeoutError, LeaseholdError, connect.Error) as error:
            text = "the worker could not say goodbye, its lease ends by itself: %s"
            log.warning(text, str(error) or f"no answer within {BOUND:g} s")


@contextmanager
def _asking(dsn: str) -> Iterator[connect.Connection]:
    with connect.connect_sync(dsn) as connection, watchdog.guard(connection, ANSWER):
        yield connection


def _hire(dsn: str, enrol: Call[int]) -> tuple[int, int, float]:
    with _asking(dsn) as connection:
        worker: int = run_sync(connection, enrol)
        number, lease = run_sync(connection, verbs.hire(worker, os.getpid()))
    return worker, number, lease


def _say_goodbye(dsn: str, worker: int, tally: Any) -> None:
    with _asking(dsn) as connection:
        run_sync(connection, verbs.beat(worker, [], tally))
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
        with suppress(RuntimeError):  # a beat answered so late that the loop is closed
            self._loop.call_soon_threadsafe(self._runner.hear, news)
