"""The worker a person starts: a small process that imports no user code and keeps runners that do.

It beats for all of them, leads the fleet when it is its turn, names what blocks a loop, takes back
within a second what a crashed runner had begun, and stops gracefully.
"""

import contextlib
import logging
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from uuid import UUID

from leasehold.errors import (
    AccessRefused,
    DatabaseError,
    LeaseholdError,
    SettingsError,
    Unreachable,
)
from leasehold.fleet.heartbeat import Heartbeat, trusted_until
from leasehold.fleet.runner_process import BLOCKED, RunnerProcess
from leasehold.store import connect, reads, verbs
from leasehold.store.call import Call
from leasehold.store.drivers.psycopg import run_sync
from leasehold.store.watchdog import watchdog

log = logging.getLogger("leasehold.worker")

LOOK: Final = 0.25  # seconds between two looks at the runners
# Seconds a runner has beyond its grace of 20: stopped within 25, where Kubernetes gives 30.
SPARE: Final = 5.0
# Pauses before the next start of a runner that keeps dying young. Three seconds at most, so that
# after the last of many crashes work is on its way again within the lease and ten more.
DAMP: Final = (0.0, 0.5, 1.0, 2.0, 3.0)
YOUNG: Final = 10.0
NAMED: Final = 5  # jobs of a dead runner that its line in the log names


class Companion(Protocol):
    """Something that lives beside the runners, such as the leader."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a worker is asked to keep up."""

    dsn: str
    target: str  # module:attribute of the app, imported by the runners alone
    version: str
    runners: int = 1
    slots: int = 100
    pace: Mapping[str, Any]
    grace: float = 20.0
    level: int = logging.INFO  # of our own log lines
    blocked_kill: float = 60.0


class StartFailed(LeaseholdError):
    """No runner could start: its own words are in the message."""


class Supervisor:
    """`run` returns the exit code. `companions` are made when the worker has its number."""

    def __init__(
        self,
        plan: Plan,
        companions: Callable[[int], Sequence[Companion]],
        *,
        changed: Callable[[], bool] | None = None,
        announce: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.plan, self._make_companions, self._changed, self._announce = (
            plan,
            companions,
            changed,
            announce,
        )
        self._runners: list[RunnerProcess] = []
        self._companions: Sequence[Companion] = ()
        self._heartbeat: Heartbeat | None = None
        self._connection: connect.Connection | None = None
        self._worker: int | None = None
        self._lease = 30.0
        self._signals = 0
        self._died_young = 0
        self._next_start = 0.0
        self._told = ""  # why a runner could not start, told once
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        before = [
            (number, signal.signal(number, self._signalled))
            for number in (signal.SIGTERM, signal.SIGINT)
        ]
        bell, rung = socket.socketpair()
        for end in (bell, rung):
            end.setblocking(False)
        signal.set_wakeup_fd(rung.fileno(), warn_on_full_buffer=False)
        self._selector.register(bell, selectors.EVENT_READ, None)
        try:
            while not self._signals:
                self._keep_up()
                self._look(bell)
            return self._wind_down(bell)
        finally:
            self._end()
            signal.set_wakeup_fd(-1)
            for number, handler in before:
                signal.signal(number, handler)
            bell.close()
            rung.close()

    def _signalled(self, _number: int, _frame: Any) -> None:
        self._signals += 1

    # Runners.

    def _keep_up(self) -> None:
        if self._changed and self._changed():
            self._announce("code has changed: runners start anew")
            self._told, self._died_young, self._next_start = "", 0, 0.0
            for runner in self._runners:
                runner.stop(self.plan.grace)
        wanted = self.plan.runners - sum(runner.stopping_since is None for runner in self._runners)
        while wanted > 0 and time.monotonic() >= self._next_start:
            runner = RunnerProcess(
                {
                    "target": self.plan.target, "dsn": self.plan.dsn, "level": self.plan.level,
                    "pace": dict(self.plan.pace),
                },
                self.plan.slots,
            )  # fmt: skip
            self._runners.append(runner)
            self._selector.register(runner.wire, selectors.EVENT_READ, runner)
            wanted -= 1

    def _look(self, bell: socket.socket) -> None:
        for key, _ in self._selector.select(LOOK):
            if key.data is None:
                try:
                    bell.recv(64)
                except BlockingIOError:
                    continue
            else:
                self._hear(key.data)
        for runner in list(self._runners):
            if not runner.alive:
                self._hear(runner)
                self._gone(runner)
            else:
                runner.send_rest()
                self._watch(runner)

    def _hear(self, runner: RunnerProcess) -> None:
        for message in runner.said():
            match message:
                case {"importing": _}:
                    runner.importing = True
                case {"ready": {"tasks": tasks, "queues": queues}}:
                    self._hire(runner, tasks, queues)
                case {"report": report}:
                    runner.keep(report)
                case {"beat": _} if self._heartbeat:
                    self._heartbeat.beat_now()
                case {"failed": text, "misnamed": misnamed}:
                    runner.failure, runner.misnamed = text, misnamed
                case _:
                    log.warning("a runner said something unknown: %s", list(message))

    def _hire(self, runner: RunnerProcess, tasks: list[str], queues: list[str]) -> None:
        if runner.stopping_since is not None:
            return
        try:
            if self._worker is None:
                self._worker = self._ask(
                    verbs.enrol(os.getpid(), socket.gethostname(), self.plan.version, queues, tasks)
                )
                self._companions = self._make_companions(self._worker)
            sent = time.monotonic()
            hired = self._ask(verbs.hire(self._worker, runner.pid, queues, tasks))
            runner.number, self._lease = hired
        except (DatabaseError, connect.Error) as error:
            if isinstance(error, AccessRefused):
                error = AccessRefused(error.refusal, "leasehold_runner")
            runner.failure = str(error)
            runner.kill()
            return
        if self._heartbeat is None:
            self._heartbeat = Heartbeat(self.plan.dsn, self._worker, self._lease, self._members)
            self._heartbeat.start()
            for companion in self._companions:
                companion.start()
        runner.tell({"go": runner.number, "until": trusted_until(sent, self._lease)})
        self._told = ""
        self._announce(
            f"runner {runner.number} serves {', '.join(queues)} with {len(tasks)} tasks "
            f"(pid {runner.pid})"
        )

    def _members(self) -> list[RunnerProcess]:
        """A loop that has not turned for too long loses its lease: nobody beats for it any more."""
        return [
            r
            for r in self._runners
            if r.number is not None and r.board.age() < self.plan.blocked_kill
        ]

    def _watch(self, runner: RunnerProcess) -> None:
        if runner.number is None:
            self._watch_import(runner)
            return
        age = runner.board.age()
        if age > self.plan.blocked_kill:
            log.error(
                "runner %s: its event loop has not turned for %.0f s; it is killed, "
                "its jobs go back",
                runner.number,
                age,
            )
            runner.kill()
        elif age > BLOCKED and _is_due(runner, age):
            jobs = ", ".join(str(job) for job in runner.begun()[:3]) or "no job"
            log.warning(
                "runner %s: its event loop is blocked for %.1f s (running: %s) here:\n%s",
                runner.number,
                age,
                jobs,
                runner.blocked_by(),
            )
        elif (
            runner.stopping_since is not None
            and time.monotonic() - runner.stopping_since > self.plan.grace + SPARE
        ):
            runner.kill()

    def _watch_import(self, runner: RunnerProcess) -> None:
        took = time.monotonic() - runner.started
        if runner.importing and took > BLOCKED and _is_due(runner, took):
            log.warning(
                "a runner (pid %d) has been importing %s for %.1f s, and is here:\n%s",
                runner.pid,
                self.plan.target,
                took,
                runner.blocked_by(),
            )

    def _gone(self, runner: RunnerProcess) -> None:
        code = runner.process.wait()
        begun = runner.begun()
        self._last_words(runner)
        self._runners.remove(runner)
        self._selector.unregister(runner.wire)
        runner.close()
        if runner.number is not None:
            if runner.stopping_since is not None and code == 0:
                self._take_back(runner.number, [])
            else:
                how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                came = self._take_back(runner.number, begun)
                log.error("runner %s died (%s) while it ran %s", runner.number, how, came)
        if runner.stopping_since is None:
            self._damp(runner)

    def _take_back(self, number: int, begun: list[UUID]) -> str:
        """What it ran, and what has become of all it held."""
        try:
            moved = self._ask(verbs.reap(1_000, number, begun))
            stand = self._ask(reads.standing(begun[:1_000])) if begun else []
        except (DatabaseError, connect.Error) as error:
            log.warning("what runner %s held comes back when its lease ends: %s", number, error)
            return f"{_jobs(begun, {})}; none is taken back yet"
        tasks = {row[0]: row[3] for row in stand}
        dead = sum(row[2] == "failed" for row in stand)
        poison = f", {dead} of them to the dead letter" if dead else ""
        return f"{_jobs(begun, tasks)}; {_many(moved)} taken back{poison}"

    def _last_words(self, runner: RunnerProcess) -> None:
        """What it counted since the last beat."""
        tally = runner.report()["tally"]
        if tally and self._worker is not None:
            with contextlib.suppress(DatabaseError, connect.Error):
                self._ask(verbs.beat(self._worker, [], tally))

    def _damp(self, runner: RunnerProcess) -> None:
        young = time.monotonic() - runner.started < YOUNG
        self._died_young = self._died_young + 1 if young else 0
        if runner.failure and self._worker is None:
            raise (SettingsError if runner.misnamed else StartFailed)(runner.failure)
        if runner.failure and runner.failure != self._told:
            log.error("a runner could not start:\n%s", runner.failure)
            # With the code as it is it fails as before: said again when somebody has changed it.
            self._told = runner.failure if self._changed else ""
        self._next_start = time.monotonic() + DAMP[min(self._died_young, len(DAMP) - 1)]

    # The end.

    def _wind_down(self, bell: socket.socket) -> int:
        self._announce(
            f"stopping: jobs that run have {self.plan.grace:.0f} s; "
            "press Ctrl-C again to stop at once"
        )
        ends = time.monotonic() + self.plan.grace + SPARE
        for runner in self._runners:
            runner.stop(self.plan.grace)
        while self._runners and self._signals < 2 and time.monotonic() < ends:  # noqa: PLR2004 - the second one means now
            self._look(bell)
        return 0

    def _end(self) -> None:
        for runner in self._runners:
            runner.kill()
        for runner in list(self._runners):
            runner.process.wait()
            self._gone(runner) if runner.stopping_since is not None else runner.close()
        if self._heartbeat:
            self._heartbeat.stop()
        for companion in self._companions:
            companion.stop()
        if self._worker is not None:
            try:
                self._ask(verbs.leave(self._worker))
            except (DatabaseError, connect.Error) as error:
                log.warning("the worker could not say goodbye: %s", error)
        if self._connection:
            self._connection.close()
        self._selector.close()

    def _ask(self, call: Call[Any]) -> Any:
        if self._connection is None or self._connection.closed:
            self._connection = connect.connect_sync(self.plan.dsn, timeout=10)
        try:
            with watchdog.guard(self._connection, 15.0):
                return run_sync(self._connection, call)
        except Unreachable:
            # Mostly it broke long ago and nobody noticed: what is asked here may be asked again.
            self._connection.close()
            self._connection = connect.connect_sync(self.plan.dsn, timeout=10)
            with watchdog.guard(self._connection, 15.0):
                return run_sync(self._connection, call)


def _is_due(runner: RunnerProcess, length: float) -> bool:
    """Named when it has lasted twice as long as when it was named before."""
    if time.monotonic() - runner.named_at <= max(BLOCKED, length):
        return False
    runner.named_at = time.monotonic()
    return True


def _jobs(begun: Sequence[UUID], tasks: Mapping[UUID, str]) -> str:
    named = [f"{job} ({tasks[job]})" if job in tasks else str(job) for job in begun[:NAMED]]
    more = [f"{len(begun) - NAMED} more"] if len(begun) > NAMED else []
    return f"{_many(len(begun))}{': ' if named else ''}{', '.join(named + more)}"


def _many(number: int) -> str:
    return {0: "no job", 1: "1 job"}.get(number, f"{number} jobs")
