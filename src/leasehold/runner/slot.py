"""Where one job at a time runs: from its arguments to the end that the finisher writes."""

import asyncio
import contextvars
import inspect
import logging
import random
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from leasehold.define.outcome import Outcome
from leasehold.define.task import Definition
from leasehold.errors import DefinitionError, LeaseLost, PayloadError
from leasehold.runner import verdict
from leasehold.runner.backlog import Claimed
from leasehold.runner.job import Job, current
from leasehold.runner.outcome_raw import Judged, RawResult
from leasehold.runner.run_process import Order

if TYPE_CHECKING:
    from leasehold.runner.run import Runner

log = logging.getLogger("leasehold.runner")

TURN: Final = 64  # jobs a slot runs before it lets the loop turn
NUDGE: Final = 1.0  # seconds between two cancellations of code that swallowed the first
STUBBORN: Final = 3  # attempts after which a job that fails again is worth a warning
SHOWN: Final = 500  # characters of an error's message in the log


class Slot:
    """A long-lived asyncio task, so that a job costs no task of its own."""

    __slots__ = ("_idle", "_runner", "_task", "claimed", "job", "number", "told_at")

    def __init__(self, runner: "Runner", number: int) -> None:
        self._runner, self.number = runner, number
        self.claimed: Claimed | None = None  # what runs here now
        self.job: Job | None = None
        self.told_at: float | None = None  # when its run was first told to stop
        self._idle: asyncio.Future[None] | None = None
        self._task = asyncio.create_task(self._work())

    def rouse(self) -> None:
        if self._idle and not self._idle.done():
            self._idle.set_result(None)

    def stop(self, reason: str) -> None:
        """Tells a run to stop, and tells it again while it does not."""
        job = self.job
        if job is None:
            return
        if job.stop_because is None:
            job.stop_because, self.told_at = reason, time.monotonic()
            self._nudge(job)

    def _nudge(self, job: Job) -> None:
        if self.job is job:
            self._task.cancel(job.stop_because)
            asyncio.get_running_loop().call_later(NUDGE, self._nudge, job)

    def _cancelled_late(self) -> bool:
        """Is a cancellation left that would hit the next job?

        Before Python 3.13 `uncancel` does not take back what the task has not noticed yet.
        """
        return bool(self._task.cancelling() or getattr(self._task, "_must_cancel", False))

    def _is_current(self) -> bool:
        try:
            return asyncio.current_task() is self._task
        except RuntimeError:
            return False

    def close(self) -> None:
        self._task.cancel()

    async def _work(self) -> None:
        """Job after job. One that leaves context variables behind takes the slot's task with it."""
        runner = self._runner
        clean = dict(contextvars.copy_context().items())
        ran = 0
        while not runner.stopping.is_set():
            claimed = runner.backlog.begin()
            if claimed is None:
                self._idle = asyncio.get_running_loop().create_future()
                runner.idle.append(self)
                runner.room.set()
                try:
                    await self._idle
                except asyncio.CancelledError:
                    if runner.closing:
                        raise
                    _uncancel()  # meant for a job that has ended
                    if self in runner.idle:
                        runner.idle.remove(self)
                continue
            await self._run(claimed)
            ran += 1
            if ran % TURN == 0:
                runner.room.set()
                await asyncio.sleep(0)
            if self._cancelled_late() or not _same(clean):
                self._task = asyncio.create_task(self._work(), context=contextvars.Context())
                return
        runner.slots.remove(self)

    async def _run(self, claimed: Claimed) -> None:
        runner = self._runner
        definition = runner.tasks[claimed.task]
        began = time.monotonic()
        self.claimed, self.job = claimed, (job := Job(runner, claimed))
        current.set(job)
        runner.busy += 1
        runner.board.begin(self.number, claimed.id)
        alarm = self._alarm(claimed, definition)
        try:
            document, raw = await self._end(job, claimed, definition)
        finally:
            if alarm:
                alarm.cancel()
            if job.stop_because is not None:
                _uncancel()
            self.claimed = self.job = self.told_at = None
            runner.busy -= 1
            runner.backlog.end(claimed)
            runner.board.end(self.number)
        self._settle(job, claimed, document, raw, int((time.monotonic() - began) * 1000))

    def _alarm(self, claimed: Claimed, definition: Definition) -> asyncio.TimerHandle | None:
        """Whichever comes first: this attempt's time-out, or the deadline of the whole job."""
        timeout, reason = claimed.timeout or definition.options.timeout, "timeout"
        if claimed.deadline is not None:
            left = (claimed.deadline - self._runner.offset) / 1e6 - time.monotonic()
            if timeout is None or left < timeout:
                timeout, reason = max(left, 0), "deadline"
        if timeout is None:
            return None
        return asyncio.get_running_loop().call_later(timeout, self.stop, reason)

    async def _end(
        self, job: Job, claimed: Claimed, definition: Definition
    ) -> tuple[dict[str, Any] | None, bytes | None]:
        """What the function came to: a document for verdict's outcomes, else an encoded result."""
        try:
            if definition.run == "process":
                order = Order(self._runner.number, claimed)
                value = await self._runner.children.run(job, definition, order)
            else:
                args, kwargs = definition.codec.decode_call(claimed.payload)
                if definition.run == "async":
                    value = await definition.function(*args, **kwargs)
                else:
                    value = await self._in_thread(definition, args, kwargs)
            return (None, None) if value is None else self._read(value, claimed, definition)
        except asyncio.CancelledError:
            if job.stop_because is not None:
                return self._halted(job.stop_because, claimed), None
            if self._runner.closing:
                raise  # the slot itself is taken down
            _uncancel()
            msg = "its function raised CancelledError, and nobody had cancelled it"
            return self._judged(RuntimeError(msg), claimed), None
        except BaseException as error:
            if isinstance(error, GeneratorExit) and not self._is_current():
                raise  # the loop is gone, and this coroutine with it
            return self._judged(error, claimed), None

    async def _in_thread(self, definition: Definition, args: Any, kwargs: Any) -> Any:
        value = await self._runner.threads.run(definition.function, args, kwargs)
        if inspect.isgenerator(value) or inspect.isasyncgen(value):
            msg = "answers with a generator, whose body nobody runs: return a list, or save pieces"
            raise DefinitionError(definition.name, msg)
        # A decorator may hide that the function is async.
        return await value if inspect.isawaitable(value) else value

    def _read(
        self, value: Any, claimed: Claimed, definition: Definition
    ) -> tuple[dict[str, Any] | None, bytes | None]:
        match value:
            case Outcome():
                return self._judged(value, claimed), None
            case Judged():
                return value.document, None
            case RawResult():
                return None, value.raw
            case _:
                raw, problem = definition.codec.encode_result(value)
        if problem:
            text = "job %s succeeded, its result is not stored: %s"
            log.warning(text, claimed.uuid, problem)
            return verdict.kept_nothing(problem), None
        return None, raw

    def _judged(self, error: BaseException, claimed: Claimed) -> dict[str, Any]:
        if isinstance(error, LeaseLost):
            return verdict.lost()
        if isinstance(error, PayloadError):
            log.warning("job %s (%s): %s", claimed.uuid, claimed.task, error)
        definition = self._runner.tasks[claimed.task]
        attempt, luck = claimed.attempts + 1, random.random()  # noqa: S311
        return verdict.judged(definition, error, attempt, claimed.max_attempts, luck)

    def _halted(self, reason: str, claimed: Claimed) -> dict[str, Any]:
        match reason:
            case "timeout":
                limit = claimed.timeout or self._runner.tasks[claimed.task].options.timeout
                late = verdict.TimedOut(f"took longer than its {limit:g} s")
                return self._judged(late, claimed)
            case "deadline":
                return verdict.expired()
            case "shutdown":
                return verdict.released()
            case "the lease was lost":
                return verdict.lost()
            case _:
                return verdict.stopped(reason)

    def _settle(
        self,
        job: Job,
        claimed: Claimed,
        document: dict[str, Any] | None,
        raw: bytes | None,
        run_ms: int,
    ) -> None:
        runner, bundle = self._runner, claimed.bundle
        outcome = document["outcome"] if document else "succeeded"
        if job.ended_by_itself and outcome != "failed":
            runner.finisher.left(bundle)
        elif document is None:
            runner.finisher.succeeded(bundle, claimed.id, claimed.claim_no, run_ms, raw)
        elif outcome == "lost":
            log.warning("job %s was lost to another runner and stopped here", job.id)
            runner.finisher.left(bundle)
        else:
            if outcome in ("retried", "failed"):
                _tell_failure(claimed, job.attempt, outcome, document["error"])
            named = verdict.named(document, claimed.id, claimed.claim_no, run_ms)
            runner.finisher.otherwise(bundle, named)
        runner.ended()
        wait_ms = max((claimed.came - claimed.turn) // 1000, 0)
        runner.tally.add(claimed.queue, claimed.task, outcome, run_ms, wait_ms)


def _tell_failure(claimed: Claimed, attempt: int, outcome: str, error: Mapping[str, Any]) -> None:
    """One line that holds all it takes to look for it; `docs/how-to/run-workers.md` names them."""
    level, what = logging.INFO, "failed and is tried again"
    if outcome == "failed":
        level, what = logging.WARNING, "failed for good"
    elif attempt >= STUBBORN:
        level, what = logging.WARNING, "keeps failing and is tried again"
    shown = "".join(c if c.isprintable() else " " for c in str(error.get("message", ""))[:SHOWN])
    text = "job %s (%s) attempt %d %s: %s: %s"
    log.log(level, text, claimed.uuid, claimed.task, attempt, what, error["type"], shown.strip())


def _uncancel() -> None:
    """The slot's task goes on with the next job."""
    if task := asyncio.current_task():
        while task.cancelling():
            task.uncancel()


def _same(clean: Mapping[Any, Any]) -> bool:
    now = contextvars.copy_context()
    if len(now) - (current in now) != len(clean) - (current in clean):
        return False
    return all(
        variable is current or clean.get(variable) is value for variable, value in now.items()
    )
