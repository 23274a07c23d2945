"""Threads and processes have places; a job that waits for one has not begun."""

import asyncio
import threading

import pytest

from leasehold import Retry
from runner.waiting import until

ONCE = Retry(1)


@pytest.fixture
def gate():
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def tasks(app, gate):
    @app.task(retry=ONCE)
    def waits() -> str:
        gate.wait(20)
        return "waited"

    @app.task(retry=ONCE, timeout=1)
    def hurries(n: int) -> int:
        return n

    @app.task
    async def quick() -> str:
        return "quick"

    return waits, hurries, quick


async def test_a_job_without_a_place_stays_in_the_queue(app, house, tasks):
    waits, _, _ = tasks
    first, second = await waits.enqueue(), await waits.enqueue()
    async with app.worker(threads=1, poll=0.05):
        await until(lambda: house.state(first.id) == "running")
        await until(lambda: house.count("sleeper"))
        assert house.state(second.id) == "ready"
        assert await second.cancel() == "cancelled"


async def test_a_full_kind_keeps_no_other_waiting(app, house, tasks):
    waits, _, quick = tasks
    await waits.enqueue_many({} for _ in range(200))
    async with app.worker(threads=1, poll=60):
        await until(lambda: house.count("running"))
        assert await (await quick.enqueue()).result(timeout=5) == "quick"


async def test_a_place_that_is_free_again_is_filled_at_once(app, house, tasks, gate):
    waits, _, _ = tasks
    handles = await waits.enqueue_many({} for _ in range(3))
    async with app.worker(threads=1, poll=60):
        await until(lambda: house.count("sleeper"))
        gate.set()
        assert [await one.result(timeout=5) for one in handles] == ["waited"] * 3


async def test_the_time_out_counts_from_when_the_function_begins(app, house, tasks, gate):
    waits, hurries, _ = tasks
    await waits.enqueue()
    handles = await hurries.enqueue_many({"n": n} for n in range(3))
    async with app.worker(threads=1, poll=0.05):
        await until(lambda: house.count("running"))
        await asyncio.to_thread(gate.wait, 1.2)
        gate.set()
        assert [await one.result(timeout=5) for one in handles] == [0, 1, 2]


async def test_more_places_elsewhere_are_used(app, house, tasks):
    """What one runner has no place for, another one takes."""
    waits, _, _ = tasks
    handles = await waits.enqueue_many({} for _ in range(2))
    async with app.worker(threads=1, poll=0.05), app.worker(threads=1, poll=0.05):
        for one in handles:
            await until(lambda one=one: house.state(one.id) == "running")
