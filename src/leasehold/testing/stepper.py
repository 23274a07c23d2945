"""A runner that takes a job when it is told to; nothing goes on by itself between two steps."""

import asyncio
import contextvars
import os
import socket
import time
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from leasehold.app import App
from leasehold.errors import EndlessChain
from leasehold.maintain.duties import DUTIES
from leasehold.observe.board import Board
from leasehold.runner.backlog import Backlog, Claimed
from leasehold.runner.job import Job
from leasehold.runner.places import CLAIM_MOST, Places
from leasehold.runner.run import Pace, Runner
from leasehold.runner.slot import Slot
from leasehold.store import connect, reads, verbs
from leasehold.store.drivers.psycopg import run_sync

MOST: Final = 1_000  # steps in one call
LOOK: Final = 0.005  # seconds between two looks at a job that another step has just claimed
PLACES: Final = 10_000  # runs at a time, where enqueues of one test wait for their jobs
MOVES: Final = ("promote", "reap", "expire", "unblock")  # of the leader's duties
SOON: Final = ("ready", "assigned", "running")  # it may run now, or does
# How many runs this code is inside of.
deep: contextvars.ContextVar[int] = contextvars.ContextVar("leasehold_deep", default=0)


class Failure(NamedTuple):
    """What is stored of an error."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Ended:
    """What one run of a job came to.

    `state` is how the job stands now: succeeded, failed, cancelled or expired; scheduled when it
    is tried again later, ready when at once. `exception` is what its function raised, or the
    outcome it returned; that of a process task stays in its process.
    """

    id: UUID
    task: str
    queue: str
    attempt: int
    state: str
    result: Any
    error: Failure | None
    exception: BaseException | None


class Step(Slot):
    """Where one job runs, and no second."""

    def __init__(self, runner: "Stepper", claimed: Claimed) -> None:
        self.the_job = claimed
        self.raised: BaseException | None = None
        self.document: dict[str, Any] | None = None
        super().__init__(runner, 0)

    async def over(self) -> None:
        try:
            await asyncio.wait({self._task})
        except asyncio.CancelledError:  # the test is cancelled: the job goes back unharmed
            self.stop("shutdown")
            await asyncio.wait({self._task})
            raise
        self._task.result()

    async def _work(self) -> None:
        await self._run(self.the_job)

    def _judged(self, error: BaseException, claimed: Claimed) -> dict[str, Any]:
        self.raised = error
        return super()._judged(error, claimed)

    def _settle(
        self,
        job: Job,
        claimed: Claimed,
        document: dict[str, Any] | None,
        raw: bytes | None,
        run_ms: int,
    ) -> None:
        self.document = document
        super()._settle(job, claimed, document, raw, run_ms)


class Stepper(Runner):
    """For one event loop. Begins and ends without it, so that a fixture can see to both."""

    def __init__(self, app: App, dsn: str) -> None:
        from leasehold import __version__  # noqa: PLC0415 - it imports the app

        self.app, self.loop = app, asyncio.get_running_loop()
        self._membership = connect.connect_sync(dsn)
        here = (os.getpid(), socket.gethostname(), __version__)
        enrol = verbs.enrol(*here, app.queues(), sorted(app.definitions))
        self.worker = run_sync(self._membership, enrol)
        number, _ = run_sync(self._membership, verbs.hire(self.worker, os.getpid()))
        board, pace = Board(bytearray(Board.size(1)), 1), Pace(concurrency=PLACES)
        super().__init__(app.definitions, dsn, number, board, pace)
        # All kinds are one: the next job is the next of all. Tasks may still be defined.
        self._all = Places((), PLACES)
        places = defaultdict(lambda: self._all, {"": self._all})
        self.backlog = Backlog(number, self.finisher, self._writing.ask, places)
        self._claiming = self._writing  # one connection fewer to open: nobody listens here
        self._loop = self.loop
        self._turn, self._writes = asyncio.Lock(), asyncio.Lock()

    def leave(self) -> None:
        """Callable from anywhere once no step is under way."""
        self.threads.close()
        for lane in (self._writing, self._asking):
            lane.forget()
        with self._membership as connection:
            run_sync(connection, verbs.beat(self.worker, [], self.report()["tally"]))
            run_sync(connection, verbs.leave(self.worker))

    # What worker and leader do all the time is done between two runs.

    async def time_passes(self) -> bool:
        """False when the lease was lost all the same."""
        await self._keep()
        if self.stopping.is_set():
            return False
        now = await self.ask(reads.clock_now())
        self.offset = now - int(time.monotonic() * 1e6)
        await self.ask(verbs.lead(self.worker))
        for duty in DUTIES:
            if duty.name in MOVES:
                while duty.found(await self.ask(duty.call())):
                    pass
        return True

    async def _keep(self) -> None:
        """A heartbeat: our lease lasts however far time was moved, and progress is written."""
        report = self.report()
        tally, saved = report.pop("tally"), report.pop("saved")
        begun = [slot.job.id for slot in self.slots if slot.job]
        seen: Mapping[str, Any] = {**report, "loop_age": 0, "begun": begun}
        self.hear(await self.ask(verbs.beat(self.worker, [seen], tally)))
        if saved:
            await self.ask(verbs.save(self.number, saved))

    # Claiming.

    def _rouse(self, count: int) -> None:
        """Nobody begins by himself."""

    async def take_next(self, queues: Sequence[str]) -> Claimed | None:
        async with self._turn:
            await self._claim(list(queues), Places(self.tasks, PLACES), 1)
            return self.backlog.begin()

    async def take_these(self, queues: Sequence[str], wanted: Mapping[UUID, Any]) -> list[Claimed]:
        """A claim knows no ids: what else it brings goes back, to where it stood."""
        async with self._turn:
            tasks = Places(self.tasks, PLACES)
            while await self._claim(list(queues), tasks, CLAIM_MOST) == CLAIM_MOST:
                pass
            others = [claimed for claimed in self._all.waiting if claimed.uuid not in wanted]
            self._all.waiting = deque(c for c in self._all.waiting if c.uuid in wanted)
            mine = list(iter(self.backlog.begin, None))
            self.backlog.add(others)
            await self.backlog.give_back()
            return mine

    async def give_back(self, begun: Sequence[Claimed]) -> None:
        """They were taken to be run, and have not been."""
        async with self._turn:
            for claimed in begun:
                self.backlog.end(claimed)
            self.backlog.add(begun)
            await self.backlog.give_back()

    # Running.

    async def run_one(self, claimed: Claimed) -> Ended:
        """Returns when its end is written."""
        # As in a worker, the job sees no context variables of whoever enqueues or steps.
        context = contextvars.Context()
        context.run(deep.set, deep.get() + 1)
        step = context.run(Step, self, claimed)
        self.slots.append(step)
        try:
            await step.over()
        finally:
            self.slots.remove(step)
            if self.progressed:
                await self._keep()
            async with self._writes:  # whoever wrote before us may have taken our end along
                await self.finisher.write()
        return await self._ended(step)

    async def _ended(self, step: Step) -> Ended:
        claimed, document = step.the_job, step.document or {}
        [row] = await self.ask(reads.standing([claimed.uuid]))
        state, queue, result, error = row[2], row[4], row[8], row[9]
        if state in (*SOON, "scheduled"):  # error may be that of an earlier run
            said = document.get("error")
        else:
            said = error and msgspec.json.decode(error)
        return Ended(
            id=claimed.uuid,
            task=claimed.task,
            queue=queue,
            attempt=claimed.attempts + 1,
            state=state,
            result=self.app.decoded(claimed.task, result) if state == "succeeded" else None,
            error=Failure(str(said.get("type")), str(said.get("message"))) if said else None,
            exception=step.raised,
        )

    async def run_these(self, wanted: dict[UUID, str]) -> None:
        """These jobs, each in its queue, and no others; as far as they may run now."""
        runs: Counter[UUID] = Counter()
        while wanted and await self.time_passes():
            taken = deque(await self.take_these(sorted(set(wanted.values())), wanted))
            if not taken and not await self._elsewhere(wanted):
                return
            try:
                while taken:
                    ended = await self.run_one(taken.popleft())
                    runs[ended.id] += 1
                    if ended.state != "ready":
                        del wanted[ended.id]
                    elif runs[ended.id] == MOST:
                        raise EndlessChain(MOST, f"a {ended.task} goes on after {MOST} runs")
                    else:
                        wanted[ended.id] = ended.queue  # it was sent on
            finally:
                if taken:
                    await self.give_back(taken)

    async def _elsewhere(self, wanted: Mapping[UUID, Any]) -> bool:
        """Has another step taken one of them? It runs it, or is about to give it back."""
        rows = await self.ask(reads.standing(list(wanted)))
        if not any(row[2] in SOON for row in rows):
            return False
        await asyncio.sleep(LOOK)
        return True
