"""The measurements, one function each; every one leaves the database as it found it."""

import asyncio
import statistics
import time
from collections.abc import Callable

from leasehold.bench.measured import Measured
from leasehold.bench.scene import Scene
from leasehold.bench.tasks import app, began, noop
from leasehold.enqueue.handle import Handle
from leasehold.store import connect, probe, verbs
from leasehold.store.drivers.psycopg import run_sync

QUEUE = "default"
TIMES = "×"  # noqa: RUF001 - the sign is meant


def bulk(scene: Scene, jobs: int) -> list[Measured]:
    scene.clear()
    with scene.counted() as spent:
        asyncio.run(_fill(jobs))
    [cost] = spent
    return [
        Measured("bulk enqueue", jobs / cost.seconds, "jobs/s", floor=100_000),
        Measured("bulk enqueue, WAL a job", cost.wal / jobs, "B"),
    ]


def drain(scene: Scene, jobs: int, runners: int, *, floor: float | None = None) -> list[Measured]:
    scene.clear()
    asyncio.run(_fill(jobs))
    with scene.counted() as spent, scene.workers(runners):
        scene.until(f"drain with {runners} runners", jobs)
    [cost] = spent
    name = f"drain, {runners} runner{'s' if runners > 1 else ''}"
    # Each of our statements is a transaction of its own, so commits count them.
    return [
        Measured(name, jobs / probe.span(scene.connection), "jobs/s", floor=floor),
        Measured(f"{name}, WAL a job", cost.wal / jobs, "B"),
        Measured(f"{name}, statements a job", cost.commits / jobs, ""),
        Measured(f"{name}, server CPU a job", cost.server_cpu / jobs * 1e6, "µs"),
    ]


async def _fill(jobs: int) -> None:
    async with app:
        await noop.enqueue_many({"user_id": n} for n in range(jobs))


def single(scene: Scene, jobs: int) -> list[Measured]:
    """One caller who waits for each commit; then 64 at once."""
    scene.clear()

    async def one_by_one() -> tuple[float, float]:
        async with app:
            await noop.enqueue(user_id=0)
            start = time.perf_counter()
            for n in range(jobs):
                await noop.enqueue(user_id=n)
            alone = jobs / (time.perf_counter() - start)
            start = time.perf_counter()
            await asyncio.gather(*(_several(jobs // 4) for _ in range(64)))
            return alone, 64 * (jobs // 4) / (time.perf_counter() - start)

    alone, together = asyncio.run(one_by_one())
    return [
        Measured("single enqueue, one caller", alone, "jobs/s"),
        Measured("single enqueue, 64 callers", together, "jobs/s"),
        Measured("64 callers ÷ one caller", together / alone, TIMES, floor=10),
    ]


async def _several(jobs: int) -> None:
    for n in range(jobs):
        await noop.enqueue(user_id=n)


def pick_up(scene: Scene, jobs: int) -> list[Measured]:
    """From when the caller knows of the commit to the function's first line, in an idle worker."""
    scene.clear()
    with scene.workers(1):
        delays = asyncio.run(_lone(scene, jobs))
    after, whole = sorted(delay for delay, _ in delays), sorted(delay for _, delay in delays)
    return [
        Measured("pick-up p50", statistics.median(after), "ms", ceiling=1.0),
        Measured("pick-up p99", after[int(jobs * 0.99) - 1], "ms"),
        Measured("pick-up with the enqueue itself p50", statistics.median(whole), "ms"),
    ]


async def _lone(scene: Scene, jobs: int) -> list[tuple[float, float]]:
    """Milliseconds from the enqueue's return, and from its call."""
    sent: list[tuple[int, int, Handle[int]]] = []
    async with app:
        await (await began.enqueue()).result(timeout=30)
        for _ in range(jobs):
            await _until_asleep(scene)
            called = time.monotonic_ns()
            handle = await began.enqueue()
            sent.append((called, time.monotonic_ns(), handle))
        # Asked for at the end: a caller who waits competes with the worker for the cores.
        starts = [await handle.result(timeout=30) for _, _, handle in sent]
    return [
        ((start - committed) / 1e6, (start - called) / 1e6)
        for start, (called, committed, _) in zip(starts, sent, strict=True)
    ]


async def _until_asleep(scene: Scene) -> None:
    """Until the runner waits again: one that was about to look would flatter the pick-up."""
    await asyncio.sleep(0.002)
    while not probe.sleeping(scene.connection, "pick-up"):  # noqa: ASYNC110 - the server knows
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.002)


def costs(scene: Scene) -> list[Measured]:
    """Locks of one claim of 500, and the statements that 500 jobs take from claim to end."""
    scene.clear()
    asyncio.run(_fill(1_000))
    with connect.connect_sync(scene.dsn) as connection:
        worker = run_sync(connection, verbs.enrol(0, "bench", "bench", [QUEUE], []))
        runner, _ = run_sync(connection, verbs.hire(worker, 0))
        with connection.transaction(force_rollback=True):
            run_sync(connection, verbs.claim(runner, [QUEUE], None, 500, 500))
            held = probe.locks(connection)
        run_sync(connection, verbs.leave(worker))
    return [Measured("locks of a claim of 500", held, ""), Measured("locks a job", held / 500, "")]


def churn(scene: Scene, seconds: float, told: Callable[[str], None]) -> list[Measured]:
    """A producer keeps 20,000 jobs waiting, one runner drains at full speed: does the pace last?"""
    scene.clear()
    rates: list[float] = []
    step = max(seconds / 12, 1.0)

    async def produce() -> None:
        made, ends = 0, time.monotonic() + seconds
        next_look, done = time.monotonic() + step, 0
        async with app:
            while time.monotonic() < ends:
                now_done = made - probe.waiting(scene.connection)
                if made - now_done < 20_000:  # noqa: PLR2004 - the backlog that is kept
                    await noop.enqueue_many({"user_id": n} for n in range(5_000))
                    made += 5_000
                else:
                    await asyncio.sleep(0.02)
                if time.monotonic() >= next_look:
                    rates.append((now_done - done) / step)
                    told(f"  {rates[-1]:,.0f} jobs/s")
                    next_look, done = next_look + step, now_done

    with scene.workers(1):
        asyncio.run(produce())
    rates = rates[1:] if len(rates) > 4 else rates  # noqa: PLR2004 - the first holds the worker's start
    first, last = statistics.mean(rates[:2]), statistics.mean(rates[-2:])
    return [
        Measured("churn, first tenth of a minute", first, "jobs/s"),
        Measured("churn, last tenth", last, "jobs/s"),
        Measured("churn, last ÷ first", last / max(first, 1), TIMES, floor=0.8),
    ]
