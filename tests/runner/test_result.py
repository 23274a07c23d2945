"""A result is awaited from anywhere, told by Postgres, without asking again and again."""

import asyncio
import subprocess
import sys
from uuid import uuid4

import pytest

from leasehold import App
from leasehold.errors import NotEnded, NotFound
from leasehold.observe import event
from runner.waiting import until


@pytest.fixture
async def elsewhere(leasehold_dsn):
    """Another program's app on the same database: it knows no task."""
    async with App(leasehold_dsn) as other:
        yield other


@pytest.fixture
def echo(app):
    @app.task
    async def echo(n: int) -> int:
        return n

    return echo


async def test_a_result_is_told_across_apps_and_not_polled_for(app, elsewhere, echo, house):
    handle = await echo.enqueue(7)
    watched = []
    stop = event.listen(lambda happened: happened.verb == "watch" and watched.append(happened))
    waiting = asyncio.create_task(elsewhere.job(handle.id).result(timeout=20))
    await until(lambda: house.count("awaited"))
    async with app.worker(poll=0.05):
        async with asyncio.timeout(1.5):
            assert await waiting == 7
    stop()
    assert len(watched) == 1, "one look when the wait began, and none after"


async def test_many_waiters_are_told_and_none_waits_for_another(app, elsewhere, echo, house):
    handles = await echo.enqueue_many({"n": n} for n in range(50))
    waiting = [
        asyncio.create_task(elsewhere.job(handle.id).result(timeout=20)) for handle in handles
    ]
    await until(lambda: house.count("awaited") == 50)
    async with app.worker(poll=0.05):
        assert await asyncio.gather(*waiting) == list(range(50))


async def test_whoever_waits_twice_for_one_job_is_told_twice(app, elsewhere, echo, house):
    handle = await echo.enqueue(7)
    waiting = [asyncio.create_task(elsewhere.job(handle.id).result(timeout=20)) for _ in range(2)]
    async with app.worker(poll=0.05):
        assert await asyncio.gather(*waiting) == [7, 7]


async def test_a_result_is_awaited_in_another_process(app, leasehold_dsn, echo, house):
    handle = await echo.enqueue(7)
    program = (
        "import asyncio, leasehold, sys\n"
        "async def main():\n"
        "    async with leasehold.App(sys.argv[1]) as app:\n"
        "        print(await app.job(sys.argv[2]).result(timeout=20))\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", program, leasehold_dsn, str(handle.id)]
    other = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    await until(lambda: house.count("awaited"))
    async with app.worker(poll=0.05):
        said, _ = await asyncio.wait_for(other.communicate(), 20)
    assert said == b"7\n"


async def test_a_wait_that_is_over_says_how_to_go_on(app, echo, house):
    handle = await echo.enqueue(7)
    with pytest.raises(NotEnded, match=r"has not ended after 0\.05 s: wait longer"):
        await handle.result(timeout=0.05)
    with pytest.raises(TimeoutError):
        await handle.wait(timeout=0.05)
    with pytest.raises(NotEnded):
        handle.result_sync(timeout=0.05, look=0.01)


async def test_a_wait_that_is_over_is_not_kept(app, echo, house):
    """Somebody who asks for many results with a short patience must not pay for them for ever."""
    handle = await echo.enqueue(7)
    with pytest.raises(NotEnded):
        await handle.result(timeout=0.05)
    assert app._desks.here()._ends._awaited == {}


async def test_a_job_that_never_was_is_not_waited_for(app, house):
    with pytest.raises(NotFound, match="is not here"):
        await app.job(uuid4()).result(timeout=20)
    with pytest.raises(NotFound, match="is not here"):
        await app.job(uuid4()).wait()
    with pytest.raises(NotFound):
        await app.job(uuid4()).status()
    with pytest.raises(NotFound):
        await app.job(uuid4()).cancel()


async def test_the_end_of_a_job_is_told_without_delay_by_a_lone_job(app, echo, house):
    """The end is written at once where nothing else ends: no batch is waited for."""
    finished = []
    stop = event.listen(lambda happened: happened.verb == "finish" and finished.append(happened))
    async with app.worker(poll=60):
        for n in range(5):
            async with asyncio.timeout(2):
                assert await (await echo.enqueue(n)).result(timeout=10) == n
    stop()
    assert len(finished) == 5


def test_a_result_is_had_without_an_event_loop(leasehold_dsn, house):
    with App(leasehold_dsn) as app:
        task = app.task(plain)
        handle = task.enqueue_sync(3)
        runner = house.runner()
        (job,) = house.claim(runner)
        house.finish(runner, job, result=6)
        assert handle.result_sync(timeout=5) == 6
        assert handle.status_sync().state == "succeeded"


def plain(n: int) -> int:
    return n
