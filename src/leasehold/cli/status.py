"""`leasehold status`: what waits where, who works, how fast it goes."""

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Final

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.cli.options import Database, Json
from leasehold.cli.times import clock, span
from leasehold.operate.status import ROOMS, Depth, Queue, Status, Worker
from leasehold.operate.status import status as ask_status

ALWAYS: Final = frozenset({"ready", "running", "dead"})  # rooms shown also when empty


def status(*, json: Json = False, database: Database = None) -> int:
    """Shows queues, workers and rates; exit code 1 when jobs wait and nobody serves them."""
    with house.asking(database) as ask:
        found = ask_status(ask)
    if json:
        screen.document({**_plain(found), "stranded": found.stranded})
    else:
        _show(found)
    return 1 if found.stranded else 0


def _plain(found: Status) -> dict[str, object]:
    return {name: getattr(found, name) for name in found.__slots__}


def _show(found: Status) -> None:
    screen.words(("queues", "bold"), f"   {found.database}, {clock(found.now)}")
    if not found.queues:
        screen.say("  no jobs, and nobody serves a queue")
    else:
        used = {room for queue in found.queues for room in ROOMS if queue[room].jobs}
        rooms = [room for room in ROOMS if room in used | ALWAYS]
        heads = ["  queue", *(f">{room}" for room in rooms), ">waits", ">workers"]
        screen.table(heads, [list(_queue(queue, found, rooms)) for queue in found.queues])
    screen.say()
    _rates(found)
    screen.words(("workers", "bold"), f"   {_leader(found)}")
    if found.workers:
        heads = [
            "  worker",
            "host",
            ">pid",
            "state",
            "serves",
            ">runners",
            ">holds",
            ">lease",
            ">beat",
        ]
        screen.table(heads, [list(_worker(worker)) for worker in found.workers])
    else:
        screen.say("  none")
    for name in found.stranded:
        screen.say()
        screen.words(("no live worker", "red"), f" serves queue {name!r}, and jobs wait there:")
        screen.say(f"  leasehold worker module:app --queue {quote(name)}")


def _queue(queue: Queue, found: Status, rooms: Sequence[str]) -> Iterator[screen.Cell]:
    yield f"  {queue.name}"
    for room in rooms:
        text = _count(queue[room])
        if room == "scheduled" and queue.due:
            text += f" ({queue.due} due)"
        yield (text, "red" if room == "dead" and queue[room].jobs else "")
    head = queue["ready"].head
    yield span((found.now - head).total_seconds()) if head else "-"
    yield (str(queue.workers), "red" if queue.stranded else "")


def _count(depth: Depth) -> str:
    if depth.exact:
        return str(depth.jobs) if depth.jobs else "-"
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if depth.jobs >= 10 * size:
            return f"~{depth.jobs / size:.0f}{unit}"
    return f"~{depth.jobs}"


def _rates(found: Status) -> None:
    screen.words(("ended", "bold"), f"   in the last {found.minutes} minutes")
    if not found.rates:
        screen.say("  none")
    else:
        rows = [
            (
                f"  {rate.queue}", screen.state(rate.outcome), str(rate.n),
                f"{rate.n / found.minutes:.1f}",
                f"{rate.run_ms / rate.n:.0f} ms" if rate.n else "-",
                span(rate.wait_ms / rate.n / 1000) if rate.n else "-",
            )
            for rate in found.rates
        ]  # fmt: skip
        screen.table(["  queue", "outcome", ">jobs", ">a minute", ">run", ">waited"], rows)
    screen.say()


def _leader(found: Status) -> str:
    if found.leader is None:
        return "nobody leads"
    if not found.leader.ticking:
        return (
            f"worker {found.leader.worker} led, its last tick was {span(found.leader.tick_age)} ago"
        )
    return f"worker {found.leader.worker} leads, term {found.leader.term}"


def _worker(worker: Worker) -> Iterator[screen.Cell]:
    alive = [runner for runner in worker.runners if runner.alive]
    state = (
        ("stopping", "yellow")
        if worker.stopping
        else ("alive", "green")
        if alive
        else ("lost", "red")
    )
    blocked = max((runner.loop_age for runner in alive), default=0.0)
    if blocked > 5:  # noqa: PLR2004 - seconds, as the supervisor's own limit
        state = (f"blocked {span(blocked)}", "red")
    yield f"  {worker.id}"
    yield worker.host
    yield str(worker.pid)
    yield state
    yield ", ".join(worker.queues)
    yield str(len(alive))
    yield str(worker.held)
    yield span(min((runner.lease_left for runner in alive), default=None))
    yield f"{span(worker.beat_age)} ago"
