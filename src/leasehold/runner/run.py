"""A runner: claims jobs, runs their functions side by side, reports how they ended."""

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar
from uuid import UUID

from leasehold.define import bounds
from leasehold.define.task import Definition
from leasehold.errors import LeaseholdError
from leasehold.observe.board import Board
from leasehold.runner import verdict
from leasehold.runner.backlog import Backlog, Claimed
from leasehold.runner.finisher import Finisher
from leasehold.runner.job import Job
from leasehold.runner.places import CLAIM_MOST, Places, places_of
from leasehold.runner.run_process import Children
from leasehold.runner.run_thread import Threads
from leasehold.runner.slot import Slot
from leasehold.runner.tally import Tally
from leasehold.store import connect, reads, verbs
from leasehold.store.call import Call
from leasehold.store.lane import Lane
from leasehold.store.refusal import RunnerDead

log = logging.getLogger("leasehold.runner")
T = TypeVar("T")

HOUR: Final = 3_600.0
MOST: Final = {"concurrency": 10_000, "threads": 1_000, "processes": 256}
LEAST: Final = {"poll": 0.001, "grace": 0.0, "hold_back": 0.1}
BUFFER_MOST: Final = 10_000  # ends not yet written; above it nothing is claimed
TICK: Final = 0.25  # seconds
STUCK: Final = 10.0  # seconds after which code that was told to stop counts as one that does not
STUCK_MOST: Final = 2  # of them, and the process is left
LAST: Final = 4.5  # seconds beyond the grace in which ends are still written; the supervisor has 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a runner works; the same names as the settings."""

    queues: tuple[str, ...] = ()
    concurrency: int = 100
    threads: int = 16
    processes: int = 2
    poll: float = 2.0
    grace: float = 20.0
    hold_back: float = 30.0  # a claimed job not begun for so long goes back

    @classmethod
    def checked(cls, **said: Any) -> "Pace":
        """The door for what people write."""
        known = [field.name for field in fields(cls)]
        for name, value in said.items():
            if bounds.one_of("worker", name, known) == "queues":
                queues = [value] if isinstance(value, str) else value
                said[name] = tuple(
                    bounds.text("queues", queue, bounds.QUEUE_MOST) for queue in queues
                )
            elif name in MOST:
                said[name] = bounds.whole(name, value, 1, MOST[name])
            else:
                said[name] = bounds.seconds(name, value, LEAST[name], HOUR)
        return cls(**said)


class Runner:
    """`report` and `hear` are its side of the heartbeat, which may beat in another process."""

    def __init__(
        self, tasks: Mapping[str, Definition], dsn: str, number: int, board: Board, pace: Pace
    ) -> None:
        self.tasks, self.dsn, self.number, self.board, self.pace = tasks, dsn, number, board, pace
        self._claiming = Lane(dsn, f"leasehold_runner_{number}", hot=True)
        self._writing = Lane(dsn, hot=True)
        self._asking = Lane(dsn)
        self.finisher = Finisher(number, self._writing.insist)
        places = places_of(
            tasks,
            {"async": pace.concurrency, "thread": pace.threads, "process": pace.processes},
        )
        self.backlog = Backlog(number, self.finisher, self._writing.ask, places)
        self.threads, self.children = Threads(pace.threads), Children(pace.processes)
        self.slots: list[Slot] = []
        self.idle: list[Slot] = []
        self.busy = 0
        self.tally = Tally()
        self.progressed: dict[bytes, Job] = {}
        self.room = asyncio.Event()
        self.stopping = asyncio.Event()
        self.closing = False
        self._named: set[UUID] = set()  # jobs that do not stop, told of once
        self.offset = 0  # from time.monotonic to the database's clock, in µs
        self._until = math.inf  # on the clock of time.monotonic: our lease may be over from then on
        self._loop: asyncio.AbstractEventLoop | None = None
        self.beat_now: Callable[[], Any] | None = None

    # The heartbeat's side.

    def report(self) -> dict[str, Any]:
        """What the heartbeat says of this runner; callable from any thread."""
        progressed, self.progressed = self.progressed, {}
        return {
            "id": self.number,
            "at": time.monotonic(),
            "bundles": list(self.finisher.bundles),
            "tally": self.tally.take(),
            "saved": [
                {"bundle": job.bundle, "job": job.id, "progress": job.percent, "note": job.note}
                for job in progressed.values()
            ],
        }

    def hear(self, news: Mapping[str, Any]) -> None:
        """What the beat answered, on the runner's own loop."""
        self._until = news.get("until", self._until)
        self.room.set()
        if self.number in news.get("dead", ()):
            running = {slot.job.bundle for slot in self.slots if slot.job}
            self._lose(running | set(self.finisher.bundles))
            self._stop_lost()
            return
        if gone := {bundle for number, bundle in news.get("gone", ()) if number == self.number}:
            self._lose(gone)
        for number, job, claim_no, reason in news.get("cancel", ()):
            if number == self.number:
                self._cancel(UUID(job).bytes, claim_no, reason or "cancelled")

    def _stop_lost(self) -> None:
        if not self.stopping.is_set():
            log.warning("this runner's lease was lost: it stops")
            self.stopping.set()

    def _lose(self, bundles: set[int]) -> None:
        for bundle in bundles:
            self.finisher.forget(bundle)
        self.backlog.lose(bundles)
        for slot in self.slots:
            if slot.job and slot.job.bundle in bundles:
                slot.stop("the lease was lost")

    def _cancel(self, job: bytes, claim_no: int, reason: str) -> None:
        for slot in self.slots:
            if (runs := slot.claimed) and (runs.id, runs.claim_no) == (job, claim_no):
                slot.stop(reason)
                return
        if claimed := self.backlog.take_one(job, claim_no):
            named = verdict.named(verdict.stopped(reason), job, claim_no, run_ms=0)
            self.finisher.otherwise(claimed.bundle, named)

    # Its life.

    async def run(self) -> None:
        """Until `stop`: then what runs gets its grace, and the rest goes back unharmed."""
        self._loop = asyncio.get_running_loop()
        if not await self._set_clock():
            return
        ticking = asyncio.create_task(self._tick())
        finishing = asyncio.create_task(self.finisher.run())
        claiming = asyncio.create_task(self._claim_on())
        stopping = asyncio.create_task(self.stopping.wait())
        ours = {ticking, finishing, claiming}
        try:
            await asyncio.wait({*ours, stopping}, return_when=asyncio.FIRST_COMPLETED)
            for task in ours:
                if task.done():
                    task.result()  # a bug of ours: let it be seen, the supervisor starts anew
            # A claim under way is let finish: what it brings goes back.
            ends = time.monotonic() + self.pace.grace + LAST
            await asyncio.wait({claiming}, timeout=1)
            await _ended(claiming)
            await self._wind_down()
            await _within(self.finisher.drained(), ends - time.monotonic())
            if unwritten := len(self.finisher):
                log.error(
                    "the ends of %d runs could not be written before this runner had to stop: "
                    "their jobs run again when its lease is over",
                    unwritten,
                )
        finally:
            self.closing = True
            stopping.cancel()
            self.threads.close()
            for slot in self.slots:
                slot.close()
            await _ended(*ours)
            await self.children.close()
            for lane in (self._claiming, self._writing, self._asking):
                await lane.close()

    def stop(self) -> None:
        self.stopping.set()

    async def _set_clock(self) -> bool:
        """False when it was told to stop before the database could be asked."""
        asking = asyncio.create_task(self._writing.insist(reads.clock_now()))
        stop = asyncio.create_task(self.stopping.wait())
        try:
            await asyncio.wait({asking, stop}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                self.offset = asking.result() - int(time.monotonic() * 1e6)
                return True
            return False
        finally:
            await _ended(asking, stop)
            if not self.offset:
                await self._writing.close()

    async def _wind_down(self) -> None:
        """Prefetched jobs go back at once; running ones have the grace, then they are cancelled."""
        giving = asyncio.create_task(self.backlog.give_back())
        await self._all_ended(self.pace.grace)
        for slot in self.slots:
            slot.stop("shutdown")
        await self._all_ended(min(self.pace.grace, 3.0))
        await asyncio.wait({giving}, timeout=1)
        await _ended(giving)

    async def _all_ended(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while self.busy and time.monotonic() < ends:
            self.room.clear()
            await _within(self.room.wait(), ends - time.monotonic())

    async def _tick(self) -> None:
        """Shows that the loop turns, gives back what lies here too long, measures the pace."""
        last = time.monotonic()
        giving: asyncio.Task[None] | None = None
        while True:
            self.board.tick()
            await asyncio.sleep(TICK)
            now = time.monotonic()
            if self._in_doubt:
                self._stop_exclusive()
            self._leave_stuck()
            for kind in self.backlog.kinds:
                kind.look(now - last)
            last = now
            if giving is None or giving.done():  # beside us: the database may be slower than we are
                giving = asyncio.create_task(
                    self.backlog.give_back(before=self._now() - int(self.pace.hold_back * 1e6))
                )

    def _now(self) -> int:
        """By the database's clock, in µs since 2000."""
        return int(time.monotonic() * 1e6) + self.offset

    @property
    def _in_doubt(self) -> bool:
        """No beat was answered for so long that somebody else may have our jobs."""
        return time.monotonic() > self._until

    def _stop_exclusive(self) -> None:
        """Ordinary tasks run on: an outage for all is commoner than for one runner.

        While nobody can write, nobody can take a job over.
        """
        for slot in self.slots:
            job = slot.job
            if job and job.stop_because is None and self.tasks[job.task].exclusive:
                slot.stop("the lease was lost")

    def _leave_stuck(self) -> None:
        """Code that was told to stop and goes on keeps its place: with a new process it is free."""
        before = time.monotonic() - STUCK
        stuck = [slot for slot in self.slots if slot.told_at is not None and slot.told_at < before]
        for slot in stuck:
            if slot.job and slot.job.id not in self._named:
                self._named.add(slot.job.id)
                text = "job %s (%s) was told to stop (%s) and goes on: it keeps its place"
                log.error(text, slot.job.id, slot.job.task, slot.job.stop_because)
        if len(stuck) >= STUCK_MOST and not self.stopping.is_set():
            log.error("%d jobs do not stop: this runner ends, and another one begins", len(stuck))
            self.stop()

    # Claiming.

    async def _claim_on(self) -> None:
        queues = list(self.pace.queues)
        while not self.stopping.is_set():
            self.room.clear()
            wanted = self._wanted()
            if not wanted:
                await _first_of(self.room.wait(), self.stopping.wait())
                continue
            try:
                if await self._claim_all(queues, wanted):
                    random.shuffle(queues)
                    continue
                await self._claiming.ask(verbs.sleep(self.number, queues))
                if await self._claim_all(queues, wanted):
                    continue
                await self._listen(until_room=len(wanted) < len(self.backlog.kinds))
            except RunnerDead:
                self._stop_lost()
            except (LeaseholdError, connect.Error) as error:
                log.warning("claiming waits for the database: %s", error)
                await _within(self.stopping.wait(), 0.5 + random.random())  # noqa: S311

    async def _listen(self, *, until_room: bool) -> None:
        """Until there is news, or the poll's time has come, or a kind that was full has a place."""
        heard = asyncio.create_task(self._claiming.heard(self.pace.poll))
        others = [asyncio.create_task(self.stopping.wait())]
        if until_room:
            others.append(asyncio.create_task(self.room.wait()))
        await asyncio.wait({heard, *others}, return_when=asyncio.FIRST_COMPLETED)
        await _ended(*others)
        if not heard.done():
            await _ended(heard)
        elif "cancel" in heard.result() and self.beat_now:
            self.beat_now()

    def _wanted(self) -> list[tuple[Places, int]]:
        """How many jobs of each kind there is room for."""
        if len(self.finisher) > BUFFER_MOST or self._in_doubt:
            return []
        room = self.pace.concurrency - self.busy
        wanted = [(kind, kind.wanted(room)) for kind in self.backlog.kinds]
        return [(kind, limit) for kind, limit in wanted if limit > 0]

    async def _claim_all(self, queues: list[str], wanted: list[tuple[Places, int]]) -> int:
        """One statement a kind; most apps have one."""
        came, most = 0, sum(limit for _, limit in wanted)
        for kind, limit in wanted:
            came += await self._claim(queues, kind, limit)
        if 0 < came < most:
            await asyncio.sleep(0)  # they begin before we look again: no need to hurry
        return came

    async def _claim(self, queues: list[str], kind: Places, limit: int) -> int:
        """However many there were; each queue in its order, the queues in the order given."""
        begin = max(kind.free(self.pace.concurrency - self.busy), 0)
        claim = verbs.claim(self.number, queues, kind.tasks, limit, begin, kind.marks)
        rows: list[Any] = list(await self._claiming.ask(claim))
        if rows and rows[-1][1] is None:
            kind.marks = rows.pop()[15].decode()
        if not rows:
            return 0
        bundles = self.finisher.bundles
        for row in rows:
            bundles[row[0]] = bundles.get(row[0], 0) + 1
        now = self._now()
        if any(row[5] is None for row in rows):
            try:
                rows = await self._with_bodies(rows)
            except BaseException:
                for row in rows:  # not held here: a later beat gives them back
                    self.finisher.left(row[0])
                raise
        self.backlog.add([Claimed._make((*row[:15], now)) for row in rows])
        self._rouse(len(rows))
        return len(rows)

    async def _with_bodies(self, rows: list[Any]) -> list[Any]:
        """A large payload is fetched by itself."""
        large = connect.Ids([row[1] for row in rows if row[5] is None])
        found = {row[0]: row[1] for row in await self._claiming.ask(reads.bodies(large))}
        return [row if row[5] is not None else (*row[:5], found[row[1]], *row[6:]) for row in rows]

    def _rouse(self, count: int) -> None:
        while count > 0 and self.idle:
            self.idle.pop().rouse()
            count -= 1
        while count > 0 and len(self.slots) < self.pace.concurrency:
            self.slots.append(Slot(self, len(self.slots)))
            count -= 1

    def ended(self) -> None:
        """A job has ended here: there may be room to claim for."""
        if len(self.backlog) < CLAIM_MOST // 2:
            self.room.set()

    # For jobs.

    async def ask(self, call: Call[T]) -> T:
        return await self._asking.ask(call)

    def from_thread(self, question: Coroutine[Any, Any, T]) -> T:
        if self._loop is None or _loop_here() is self._loop:
            question.close()
            msg = "the _sync methods of a job are for threads: await save() and checkpoint() here"
            raise RuntimeError(msg)
        return asyncio.run_coroutine_threadsafe(question, self._loop).result()


def _loop_here() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _ended(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _within(waiting: Coroutine[Any, Any, Any], seconds: float) -> None:
    try:
        async with asyncio.timeout(max(seconds, 0)):
            await waiting
    except TimeoutError:
        return


async def _first_of(*waits: Coroutine[Any, Any, Any]) -> None:
    tasks = [asyncio.create_task(wait) for wait in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await _ended(*tasks)
