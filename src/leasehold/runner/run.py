"""A runner: claims jobs, runs their functions side by side, reports how they ended."""

import asyncio
import contextvars
import logging
import math
import random
import time
from collections import deque
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import UUID

import msgspec

from leasehold.define.outcome import Outcome
from leasehold.define.task import Definition
from leasehold.errors import LeaseLost, PayloadError, Unreachable
from leasehold.runner import verdict
from leasehold.observe.board import Board
from leasehold.runner.finisher import Finisher
from leasehold.runner.job import Job, current
from leasehold.store.lane import Lane
from leasehold.runner.outcome_raw import Judged, RawResult
from leasehold.runner.run_process import Children
from leasehold.store import connect, reads, verbs
from leasehold.store.call import Call
from leasehold.store.refusal import RunnerDead

log = logging.getLogger("leasehold.runner")
T = TypeVar("T")

CLAIM_MOST: Final = 500  # jobs in one statement
AHEAD: Final = 0.1  # seconds of work that may lie here claimed and not begun
BUFFER_MOST: Final = 10_000  # ends not yet written; above it nothing is claimed
TURN: Final = 64  # jobs a slot runs before it lets the loop turn
NUDGE: Final = 1.0  # seconds between two cancellations of code that swallowed the first


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


class Slot:
    """Where one job at a time runs: a long-lived asyncio task, so that a job costs no task of its own."""

    __slots__ = ("idle", "job", "number", "task")

    def __init__(self, number: int) -> None:
        self.number = number
        self.job: Job | None = None
        self.idle: asyncio.Future[None] | None = None
        self.task: asyncio.Task[None] | None = None


class Runner:
    """`report` and `hear` are its side of the heartbeat; whoever beats may live in another thread or process."""

    def __init__(
        self, tasks: Mapping[str, Definition], dsn: str, number: int, board: Board, pace: Pace
    ) -> None:
        self.tasks, self.dsn, self.number, self.board, self.pace = tasks, dsn, number, board, pace
        self.progressed: dict[bytes, Job] = {}
        self._claiming = Lane(dsn, f"leasehold_runner_{number}", hot=True)
        self._writing = Lane(dsn, hot=True)
        self._asking = Lane(dsn)
        self._finisher = Finisher(number, self._writing.insist)
        self._backlog: deque[Any] = deque()
        self._slots: list[Slot] = []
        self._idle: list[Slot] = []
        self._busy = 0
        self._room = asyncio.Event()
        self._stopping = asyncio.Event()
        self._closing = False
        self._marks: str | None = None
        self._rate = 0.0
        self._counted = 0
        self._tally: dict[tuple[str, str, str], list[int]] = {}
        self._offset = 0
        self._until = math.inf  # on the clock of time.monotonic: our lease may be over from then on
        self._threads: ThreadPoolExecutor | None = None
        self._children = Children(pace.processes)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.beat_now: Any = None

    # The heartbeat's side.

    def report(self) -> dict[str, Any]:
        """What the heartbeat says of this runner; callable from any thread."""
        tally, self._tally = self._tally, {}
        progressed, self.progressed = self.progressed, {}
        saved = [
            {
                "bundle": job.bundle,
                "job": UUID(bytes=job._id),
                "progress": job.percent,
                "note": job.note,
            }  # noqa: SLF001
            for job in progressed.values()
        ]
        return {
            "id": self.number,
            "bundles": list(self._finisher.bundles),
            "tally": [
                {
                    "queue": queue,
                    "task": task,
                    "outcome": outcome,
                    "n": n,
                    "run_ms": run,
                    "wait_ms": wait,
                }
                for (queue, task, outcome), (n, run, wait) in tally.items()
            ],
            "saved": saved,
        }

    def hear(self, news: Mapping[str, Any]) -> None:
        """What the beat answered, on the runner's own loop."""
        self._until = news.get("until", self._until)
        self._room.set()
        if self.number in news.get("dead", ()):
            self._lose(
                {slot.job.bundle for slot in self._slots if slot.job} | set(self._finisher.bundles)
            )
            self._stopping.set()
            return
        if gone := {bundle for number, bundle in news.get("gone", ()) if number == self.number}:
            self._lose(gone)
        for number, job, claim_no, reason in news.get("cancel", ()):
            if number == self.number:
                self._cancel(UUID(job).bytes, claim_no, reason or "cancelled")

    def _lose(self, bundles: set[int]) -> None:
        held = bundles & set(self._finisher.bundles)
        for bundle in held:
            self._finisher.forget(bundle)
        self._backlog = deque(row for row in self._backlog if row[0] not in held)
        for slot in self._slots:
            if slot.job and slot.job.bundle in held:
                self._stop(slot, "the lease was lost")

    def _cancel(self, job: bytes, claim_no: int, reason: str) -> None:
        for slot in self._slots:
            if slot.job and slot.job._id == job and slot.job.claim_no == claim_no:  # noqa: SLF001
                self._stop(slot, reason)
                return
        for row in self._backlog:
            if row[1] == job and row[2] == claim_no:
                self._backlog.remove(row)
                self._finisher.otherwise(
                    row[0], verdict.named(verdict.stopped(reason), job, claim_no, 0)
                )
                return

    # Its life.

    async def run(self) -> None:
        """Until `stop`: then what runs gets its grace, and the rest goes back unharmed."""
        self._loop = asyncio.get_running_loop()
        self._offset = await self._writing.insist(reads.clock_now()) - int(time.monotonic() * 1e6)
        ticking = asyncio.create_task(self._tick())
        finishing = asyncio.create_task(self._finisher.run())
        claiming = asyncio.create_task(self._claim_on())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait(
                {ticking, finishing, claiming, stopping}, return_when=asyncio.FIRST_COMPLETED
            )
            for task in (ticking, finishing, claiming):
                if task.done():
                    task.result()  # a bug of ours: let it be seen, the supervisor starts anew
            await asyncio.wait(
                {claiming}, timeout=5
            )  # a claim under way is let finish: what it brings goes back
            await _ended(claiming)
            await self._wind_down()
            await self._finisher.drained()
        finally:
            self._closing = True
            stopping.cancel()
            for slot in self._slots:
                if slot.task:
                    slot.task.cancel()
            await _ended(finishing, ticking, claiming)
            await self._children.close()
            if self._threads:
                self._threads.shutdown(wait=False, cancel_futures=True)
            for lane in (self._claiming, self._writing, self._asking):
                await lane.close()

    def stop(self) -> None:
        self._stopping.set()

    async def _wind_down(self) -> None:
        """Prefetched jobs go back at once; running ones have the grace, then they are cancelled, and what stopped goes back."""
        await self._give_back(list(self._backlog))
        self._backlog.clear()
        ends = time.monotonic() + self.pace.grace
        while self._busy and time.monotonic() < ends:
            self._room.clear()
            await _within(self._room.wait(), ends - time.monotonic())
        for slot in self._slots:
            if slot.job:
                self._stop(slot, "shutdown")
        ends = time.monotonic() + min(self.pace.grace, 3.0)
        while self._busy and time.monotonic() < ends:
            self._room.clear()
            await _within(self._room.wait(), ends - time.monotonic())

    async def _give_back(self, rows: list[Any], delay: float | None = None) -> None:
        if not rows:
            return
        bundles = sorted({row[0] for row in rows})
        try:
            await self._writing.ask(
                verbs.release(
                    self.number,
                    bundles,
                    connect.Ids([r[1] for r in rows]),
                    connect.Numbers([r[2] for r in rows]),
                    delay,
                )
            )
        except (Unreachable, RunnerDead):
            log.warning(
                "%d claimed jobs could not be given back: their lease ends by itself", len(rows)
            )
        for row in rows:
            self._finisher.left(row[0])

    async def _tick(self) -> None:
        """Shows that the loop turns, gives back what lies here too long, measures the pace."""
        last = time.monotonic()
        while True:
            self.board.tick()
            await asyncio.sleep(0.25)
            now = time.monotonic()
            if now > self._until:
                self._stop_exclusive()
            self._rate = 0.5 * self._rate + 0.5 * self._counted / (now - last)
            self._counted, last = 0, now
            oldest = int(now * 1e6) + self._offset - int(self.pace.hold_back * 1e6)
            if self._backlog and self._backlog[0][-1] < oldest:
                stale = [row for row in self._backlog if row[-1] < oldest]
                self._backlog = deque(row for row in self._backlog if row[-1] >= oldest)
                await self._give_back(stale)

    @property
    def _in_doubt(self) -> bool:
        """No beat was answered for so long that somebody else may have our jobs."""
        return time.monotonic() > self._until

    def _stop_exclusive(self) -> None:
        """Ordinary tasks run on: an outage for all is commoner than for one, and while nobody can write nobody can take a job over."""
        for slot in self._slots:
            if slot.job and slot.job.stop_because is None and self.tasks[slot.job.task].exclusive:
                self._stop(slot, "the lease was lost")

    # Claiming.

    async def _claim_on(self) -> None:
        queues = list(self.pace.queues)
        while not self._stopping.is_set():
            limit = self._wanted()
            if limit <= 0:
                self._room.clear()
                await _first_of(self._room.wait(), self._stopping.wait())
                continue
            try:
                if await self._claim(queues, limit):
                    random.shuffle(queues)
                    continue
                await self._claiming.ask(verbs.sleep(self.number, queues))
                if await self._claim(queues, limit):
                    continue
                await self._listen()
            except Unreachable as error:
                log.warning("claiming waits for the database: %s", error)
                await _within(self._stopping.wait(), 0.5 + random.random())  # noqa: S311
            except RunnerDead:
                log.warning("this runner's lease was lost: it stops")
                self._stopping.set()

    async def _listen(self) -> None:
        heard = asyncio.create_task(self._claiming.heard(self.pace.poll))
        stop = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({heard, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not heard.done():
            await _ended(heard)
            return
        if "cancel" in heard.result() and self.beat_now:
            self.beat_now()

    def _wanted(self) -> int:
        if len(self._finisher) > BUFFER_MOST or self._in_doubt:
            return 0
        free = self.pace.concurrency - self._busy - len(self._backlog)
        ahead = (
            int(self._rate * AHEAD)
            if self._busy < self.pace.concurrency or self._rate > self.pace.concurrency
            else 0
        )
        return min(free + ahead, CLAIM_MOST)

    async def _claim(self, queues: list[str], limit: int) -> int:
        begin = max(self.pace.concurrency - self._busy - len(self._backlog), 0)
        rows: list[Any] = list(
            await self._claiming.ask(
                verbs.claim(self.number, queues, sorted(self.tasks), limit, begin, self._marks)
            )
        )
        if rows and rows[-1][1] is None:
            self._marks = rows.pop()[15].decode()
        if not rows:
            return 0
        bundles = self._finisher.bundles
        for row in rows:
            bundles[row[0]] = bundles.get(row[0], 0) + 1
        now = int(time.monotonic() * 1e6) + self._offset
        if any(row[5] is None for row in rows):
            rows = await self._with_bodies(rows)
        self._backlog.extend([(*row[:15], now) for row in rows])
        self._rouse(len(rows))
        return len(rows)

    async def _with_bodies(self, rows: list[Any]) -> list[Any]:
        large = connect.Ids([row[1] for row in rows if row[5] is None])
        found = {row[0]: row[1] for row in await self._claiming.ask(reads.bodies(large))}
        return [row if row[5] is not None else (*row[:5], found[row[1]], *row[6:]) for row in rows]

    def _rouse(self, count: int) -> None:
        while count > 0 and self._idle:
            slot = self._idle.pop()
            if slot.idle and not slot.idle.done():
                slot.idle.set_result(None)
            count -= 1
        while count > 0 and len(self._slots) < self.pace.concurrency:
            slot = Slot(len(self._slots))
            self._slots.append(slot)
            slot.task = asyncio.create_task(self._work(slot))
            count -= 1

    # Running.

    async def _work(self, slot: Slot) -> None:
        """A slot's life: job after job. A job that leaves context variables behind takes the slot's task with it."""
        clean = dict(contextvars.copy_context().items())
        ran = 0
        while not self._stopping.is_set():
            if not self._backlog:
                slot.idle = asyncio.get_running_loop().create_future()
                self._idle.append(slot)
                self._room.set()
                await slot.idle
                continue
            row = self._backlog.popleft()
            await self._run(slot, row)
            ran += 1
            if ran % TURN == 0:
                self._room.set()
                await asyncio.sleep(0)
            if not _same(clean):
                slot.task = asyncio.create_task(self._work(slot), context=contextvars.Context())
                return
        self._slots.remove(slot)

    async def _run(self, slot: Slot, row: Any) -> None:
        job = Job(self, row)
        definition = self.tasks[job.task]
        began = time.monotonic()
        slot.job = job
        self._busy += 1
        current.set(job)
        self.board.begin(slot.number, job._id)  # noqa: SLF001
        alarm = self._alarm(slot, row, definition)
        document: dict[str, Any] | None = None
        raw = None
        try:
            args, kwargs = definition.codec.decode_call(row[5])
            if definition.run == "async":
                value = await definition.function(*args, **kwargs)
            elif definition.run == "thread":
                value = await self._in_thread(definition, args, kwargs)
            else:
                value = await self._children.run(job, definition, row[5])
            if isinstance(value, Outcome):
                document = self._judged(definition, job, row, value)
            elif isinstance(value, Judged):
                document = value.document
            elif isinstance(value, RawResult):
                raw = value.raw
            elif value is not None:
                raw, problem = definition.codec.encode_result(value)
                if problem:
                    log.warning("job %s succeeded, its result is not stored: %s", job.id, problem)
                    raw = _problem(problem)
        except asyncio.CancelledError:
            if job.stop_because is not None:
                document = self._halted(definition, job, row)
            elif self._closing:
                raise  # the slot itself is taken down
            else:
                _uncancel()
                msg = "its function raised CancelledError, and nobody had cancelled it"
                document = self._judged(definition, job, row, RuntimeError(msg))
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a user's function raises, sys.exit too, is a fact about its job
            document = self._judged(definition, job, row, error)
        finally:
            if alarm:
                alarm.cancel()
            if job.stop_because is not None:
                _uncancel()
            slot.job = None
            self._busy -= 1
            self._counted += 1
            self.board.end(slot.number)
        self._settle(job, row, document, raw, int((time.monotonic() - began) * 1000))

    def _alarm(self, slot: Slot, row: Any, definition: Definition) -> asyncio.TimerHandle | None:
        """Whichever comes first: the attempt's time-out, or the deadline of the job's whole life."""
        timeout, reason = row[11] or definition.options.timeout, "timeout"
        if row[10] is not None:
            left = (row[10] - self._offset) / 1e6 - time.monotonic()
            if timeout is None or left < timeout:
                timeout, reason = max(left, 0), "deadline"
        if timeout is None:
            return None
        return asyncio.get_running_loop().call_later(timeout, self._stop, slot, reason)

    def _settle(
        self, job: Job, row: Any, document: dict[str, Any] | None, raw: bytes | None, run_ms: int
    ) -> None:
        if job.ended_by_itself and (document is None or document["outcome"] != "failed"):
            self._finisher.left(job.bundle)
        elif document is None:
            self._finisher.succeeded(job.bundle, job._id, job.claim_no, run_ms, raw)  # noqa: SLF001
        elif document["outcome"] == "lost":
            log.warning("job %s was lost to another runner and stopped here", job.id)
            self._finisher.left(job.bundle)
        else:
            if document["outcome"] in ("retried", "failed"):
                log.info(
                    "job %s (%s) %s: %s",
                    job.id,
                    job.task,
                    document["outcome"],
                    document["error"]["type"],
                )
            self._finisher.otherwise(
                job.bundle, verdict.named(document, job._id, job.claim_no, run_ms)
            )  # noqa: SLF001
        if len(self._backlog) < CLAIM_MOST // 2:
            self._room.set()
        key = (job.queue, job.task, document["outcome"] if document else "succeeded")
        count = self._tally.get(key)
        if count is None:
            count = self._tally[key] = [0, 0, 0]
        count[0] += 1
        count[1] += run_ms
        count[2] += max((row[15] - row[9]) // 1000, 0)

    def _judged(
        self, definition: Definition, job: Job, row: Any, error: BaseException
    ) -> dict[str, Any]:
        if isinstance(error, LeaseLost):
            return {"outcome": "lost"}
        if isinstance(error, PayloadError):
            log.warning("job %s (%s): %s", job.id, job.task, error)
        return verdict.judged(definition, error, job.attempt, row[12], random.random())  # noqa: S311

    def _halted(self, definition: Definition, job: Job, row: Any) -> dict[str, Any]:
        match job.stop_because:
            case "timeout":
                limit = row[11] or definition.options.timeout
                return self._judged(
                    definition, job, row, verdict.TimedOut(f"took longer than its {limit:g} s")
                )
            case "deadline":
                return verdict.expired()
            case "shutdown":
                return {"outcome": "released"}
            case "the lease was lost":
                return {"outcome": "lost"}
            case reason:
                return verdict.stopped(reason or "cancelled")

    def _stop(self, slot: Slot, reason: str) -> None:
        """Tells a run to stop, and tells it again while it does not."""
        job = slot.job
        if job is None or slot.task is None:
            return
        job.stop_because = job.stop_because or reason
        slot.task.cancel(reason)
        asyncio.get_running_loop().call_later(
            NUDGE, lambda: self._stop(slot, reason) if slot.job is job else None
        )

    async def _in_thread(
        self, definition: Definition, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(
                self.pace.threads, thread_name_prefix="leasehold-job"
            )
        context = contextvars.copy_context()
        future = asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(definition.function, *args, **kwargs)
        )
        while True:
            try:
                return await asyncio.shield(future)
            except asyncio.CancelledError:
                if future.done() or self._closing:
                    raise
                # A thread is told, never killed: its slot is taken until its function has stopped by itself.

    # For jobs.

    async def ask(self, call: Call[T]) -> T:
        return await self._asking.ask(call)

    def from_thread(self, question: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            question.close()
            msg = "the runner has not begun"
            raise RuntimeError(msg)
        return asyncio.run_coroutine_threadsafe(question, self._loop).result()


def _uncancel() -> None:
    """The slot's task goes on with the next job."""
    if task := asyncio.current_task():
        while task.cancelling():
            task.uncancel()


def _problem(text: str) -> bytes:
    return msgspec.json.encode({"result_error": text})


def _same(clean: Mapping[Any, Any]) -> bool:
    now = contextvars.copy_context()
    if len(now) - (current in now) != len(clean) - (current in clean):
        return False
    return all(
        variable is current or clean.get(variable) is value for variable, value in now.items()
    )


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
