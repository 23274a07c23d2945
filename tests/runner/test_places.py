"""Threads and processes have places; a job that waits for one has not begun."""

import asyncio
import threading

import pytest

from leasehold import Retry
from leasehold.errors import OptionError
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


async def test_a_job_without_a_place_stays_in_the_queue(app, house, tasks, gate):
    waits, _, _ = tasks
    first, second = await waits.enqueue(), await waits.enqueue()
    async with app.worker(threads=1, poll=0.05):
        await until(lambda: house.state(first.id) == "running")
        await until(lambda: house.count("sleeper"))
        assert house.state(second.id) == "ready"
        assert await second.cancel() == "cancelled"
        gate.set()


async def test_a_full_kind_keeps_no_other_waiting(app, house, tasks, gate):
    waits, _, quick = tasks
    await waits.enqueue_many({} for _ in range(200))
    async with app.worker(threads=1, poll=60):
        await until(lambda: house.count("running"))
        assert await (await quick.enqueue()).result(timeout=5) == "quick"
        gate.set()


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


async def test_more_places_elsewhere_are_used(app, house, tasks, gate):
    """What one runner has no place for, another one takes."""
    waits, _, _ = tasks
    handles = await waits.enqueue_many({} for _ in range(2))
    async with app.worker(threads=1, poll=0.05), app.worker(threads=1, poll=0.05):
        for one in handles:
            await until(lambda one=one: house.state(one.id) == "running")
        gate.set()


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"concurrenc": 5}, "did you mean 'concurrency'"),
        ({"concurrency": 0}, "concurrency.*from 1 to 10000"),
        ({"threads": 0}, "threads.*from 1 to 1000"),
        ({"poll": -1}, "poll.*seconds"),
        ({"grace": "long"}, "grace.*seconds"),
        ({"queues": [""]}, "queues.*0 bytes"),
    ],
)
async def test_a_worker_that_is_set_wrongly_says_where(app, said, problem):
    with pytest.raises(OptionError, match=problem):
        async with app.worker(**said):
            pass


async def test_one_queue_may_be_named_without_a_list(app, house):
    @app.task(queue="mail")
    async def send() -> str:
        return "sent"

    async with app.worker(queues="mail", poll=0.05):
        assert await (await send.enqueue()).result(timeout=5) == "sent"
