"""How the house stands: what waits where, who works, how fast it goes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from leasehold.operate.ask import Ask
from leasehold.store import reads

EXACT: Final = 10_000  # a queue's jobs are counted up to here, and estimated beyond
MINUTES: Final = 5
SILENT: Final = 15.0  # seconds after which a leader that does not tick is none
ROOMS: Final = ("ready", "scheduled", "waiting", "dispatched", "running", "dead")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    id: int
    pid: int
    started_at: datetime
    lease_left: float
    dead: bool
    loop_age: float
    held: int

    @property
    def alive(self) -> bool:
        return not self.dead and self.lease_left > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    id: int
    host: str
    pid: int
    version: str
    stopping: bool
    started_at: datetime
    beat_age: float
    queues: tuple[str, ...]
    tasks: tuple[str, ...]
    runners: tuple[Runner, ...]

    @property
    def alive(self) -> bool:
        return any(runner.alive for runner in self.runners)

    @property
    def held(self) -> int:
        return sum(runner.held for runner in self.runners)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    worker: int
    term: int
    tick_age: float
    resumed_age: float

    @property
    def ticking(self) -> bool:
        return self.tick_age <= SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    queue: str
    outcome: str
    n: int
    run_ms: int
    wait_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """Jobs of one queue in one room; `exact` is False where the number is an estimate."""

    jobs: int = 0
    exact: bool = True
    head: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    name: str
    rooms: dict[str, Depth] = field(default_factory=dict)
    due: int = 0  # of the scheduled, those whose time has come
    workers: int = 0  # alive, and serving it

    def __getitem__(self, room: str) -> Depth:
        return self.rooms.get(room, Depth())

    @property
    def stranded(self) -> bool:
        """Jobs could run, and nobody is there to run them."""
        return self.workers == 0 and self["ready"].jobs + self.due > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    now: datetime
    database: str
    queues: tuple[Queue, ...]
    workers: tuple[Worker, ...]
    leader: Lead | None
    minutes: int
    rates: tuple[Rate, ...]

    @property
    def stranded(self) -> list[str]:
        return [queue.name for queue in self.queues if queue.stranded]


def status(ask: Ask, minutes: int = MINUTES) -> Status:
    document = ask(reads.fleet(minutes))
    workers = msgspec.convert(document["workers"], tuple[Worker, ...])
    rows = ask(reads.backlog(EXACT))
    queues = _queues(rows, workers)
    return msgspec.convert({**document, "workers": workers, "queues": queues}, Status)


def _queues(rows: Iterable[Sequence[Any]], workers: Sequence[Worker]) -> tuple[Queue, ...]:
    found: dict[str, dict[str, Depth]] = {}
    for name, room, jobs, exact, head in rows:
        found.setdefault(name, {})[room] = Depth(jobs=jobs, exact=exact, head=head)
    served = [queue for worker in workers if worker.alive for queue in worker.queues]
    names = sorted({*found, *served})
    return tuple(_queue(name, found.get(name, {}), served.count(name)) for name in names)


def _queue(name: str, rooms: Mapping[str, Depth], workers: int) -> Queue:
    due = rooms.get("due", Depth()).jobs
    kept = {room: depth for room, depth in rooms.items() if room != "due"}
    return Queue(name=name, rooms=kept, due=due, workers=workers)
