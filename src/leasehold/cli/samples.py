"""Enqueues an app's sample jobs and tells of each end, beside a supervisor."""

import asyncio
import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import msgspec

from leasehold.cli import screen
from leasehold.cli.times import span
from leasehold.enqueue.ends import Ends
from leasehold.errors import LeaseholdError
from leasehold.operate.timeline import Timeline
from leasehold.store import reads
from leasehold.store.lane import Lane

FAR: Final = 60.0  # seconds: a job due later than this is not waited for
SHOWN: Final = 100  # characters of a job's arguments


class Samples:
    """A companion of the supervisor, in a thread. `after` is called when all have ended."""

    def __init__(self, dsn: str, target: str, after: Callable[[dict[str, UUID]], None]) -> None:
        self._dsn, self._target, self._after = dsn, target, after
        self._thread = threading.Thread(target=self._run, name="leasehold-samples", daemon=True)
        self._program: subprocess.Popen[str] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watching: asyncio.Task[None] | None = None
        self._stopped = threading.Event()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._program is not None and self._program.poll() is None:
            self._program.kill()
        if self._loop is not None and self._watching is not None:
            with contextlib.suppress(RuntimeError):  # all have been told of, its loop is closed
                self._loop.call_soon_threadsafe(self._watching.cancel)
        self._thread.join(timeout=5)

    def _run(self) -> None:
        jobs = self._enqueue()
        if self._stopped.is_set():
            return
        try:
            asyncio.run(self._main(jobs))
        except asyncio.CancelledError:
            return
        except LeaseholdError as error:
            screen.complain(error)

    def _enqueue(self) -> list[UUID]:
        """In a process of its own: the supervisor imports no user code."""
        command = [sys.executable, "-m", "leasehold.cli.sampling", self._target]
        self._program = subprocess.Popen(  # noqa: S603 - our own module
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            text=True, start_new_session=True,
        )  # fmt: skip
        out, wrong = self._program.communicate()
        if self._program.returncode != 0 and not self._stopped.is_set():
            screen.complain(f"the sample jobs were not enqueued: {wrong.strip()[-2_000:]}")
            return []
        return [UUID(line) for line in out.split()]

    async def _main(self, jobs: list[UUID]) -> None:
        self._loop, self._watching = asyncio.get_running_loop(), asyncio.current_task()
        asking = Lane(self._dsn)
        ends = Ends(self._dsn, asking.ask)
        if jobs:
            screen.say(f"{len(jobs)} sample jobs are enqueued; each is told of as it ends")
        states: dict[str, UUID] = {}
        try:
            told = [await _ask(asking, job) for job in jobs]
            later = [one for one in told if _due_in(one) > FAR]
            for one in later:
                states.setdefault("scheduled", one.job.id)
                line("scheduled", one, f"in {span(_due_in(one))}")
            near = [one.job.id for one in told if _due_in(one) <= FAR]
            for ended in asyncio.as_completed([_end(asking, ends, job) for job in near]):
                one = await ended
                states.setdefault(one.state, one.job.id)
                line(one.state, one, _how(one))
            self._after(states)
        finally:
            await ends.close()
            await asking.close()


async def _ask(lane: Lane, job: UUID) -> Timeline:
    return msgspec.convert(await lane.ask(reads.timeline(job)), Timeline)


async def _end(lane: Lane, ends: Ends, job: UUID) -> Timeline:
    await ends.wait(job, None)
    return await _ask(lane, job)


def _due_in(told: Timeline) -> float:
    if told.room is None or told.room.name != "scheduled" or told.room.due is None:
        return 0.0
    return (told.room.due - told.now).total_seconds()


def _how(told: Timeline) -> str:
    runs = sum(attempt.claimed_at is not None for attempt in told.attempts)
    times = f", run {runs}" if runs > 1 else ""
    last = told.last
    if last is not None and last.error:
        message = str(last.error.get("message", "")).partition("\n")[0]
        kind = "" if told.state == "cancelled" else f"{last.error.get('type')}: "
        return f"{kind}{message}{times}"
    took = last.run_ms if last is not None else None
    return f"{'' if took is None else f'{took} ms' if took else 'in under 1 ms'}{times}"


def line(state: str, told: Timeline, said: str) -> None:
    style = screen.STYLES.get(state, "")
    screen.words(
        (state.ljust(10), style), f" {called(told.job.task, told.payload)}  ", (said, "dim")
    )


def called(task: str, payload: dict[str, Any]) -> str:
    """A job as the call it is: `welcome(user_id=1)`."""
    given = ", ".join(
        f"{name}={msgspec.json.encode(value).decode()}" for name, value in payload.items()
    )
    return f"{task}({given if len(given) <= SHOWN else given[:SHOWN] + '…'})"
