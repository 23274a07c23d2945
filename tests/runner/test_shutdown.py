"""Stopping: what runs may finish, what has not begun goes back, and nothing is charged."""

import asyncio
import socket
import threading

from leasehold.observe import event
from leasehold.observe.board import Board
from leasehold.runner.run import Pace, Runner
from runner.waiting import until


async def test_what_runs_finishes_and_what_waits_goes_back_unharmed(app, house):
    begun, go = asyncio.Event(), asyncio.Event()

    @app.task
    async def holds(n: int) -> int:
        begun.set()
        await go.wait()
        return n

    handles = await holds.enqueue_many({"n": n} for n in range(20))
    async with app.worker(poll=0.05, concurrency=2) as runner:
        await begun.wait()
        runner.stop()
        go.set()
    done = [handle for handle in handles if house.state(handle.id) == "succeeded"]
    back = [handle for handle in handles if house.state(handle.id) == "ready"]
    assert (len(done), len(back)) == (2, 18)
    assert [house.history(handle.id) for handle in back] == [[]] * 18
    assert house.count("running") == 0


async def test_prefetched_jobs_go_back_in_their_old_order_and_uncharged(app, house):
    """More jobs are claimed than run at once only where the pace calls for it."""
    reached = asyncio.Event()
    ran = []

    @app.task
    async def quick(n: int) -> None:
        ran.append(n)
        if len(ran) == 200:
            reached.set()
        await asyncio.sleep(0)

    await quick.enqueue_many({"n": n} for n in range(2_000))
    async with app.worker(poll=0.05, concurrency=5) as runner:
        await reached.wait()
        runner.stop()
    assert house.count("attempt") == len(ran)
    assert house.count("ready") == 2_000 - len(ran)
    assert house.value("select count(*) from leasehold.ready where interrupted + attempts > 0") == 0
    left = [row[0] for row in house.rows("select (payload ->> 'n')::int from leasehold.ready")]
    assert sorted(ran + left) == list(range(2_000))


async def test_a_job_that_outlasts_the_grace_is_cancelled_and_goes_back_uncharged(app, house):
    begun = asyncio.Event()
    stopped = []

    @app.task
    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)

    handle = await endless.enqueue()
    async with app.worker(poll=0.05, grace=0.1) as runner:
        await begun.wait()
        runner.stop()
    assert stopped == [True]
    assert house.state(handle.id) == "ready"
    assert house.history(handle.id) == []


async def test_a_thread_that_does_not_stop_is_not_said_to_have_stopped(app, house):
    """It is given back only when its worker has left: until then nobody else may begin it."""
    begun, go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    released = []
    stop = event.listen(lambda happened: happened.verb == "release" and released.append(happened))

    @app.task
    def deaf() -> None:
        loop.call_soon_threadsafe(begun.set)
        go.wait()

    handle = await deaf.enqueue()
    async with app.worker(poll=0.05, grace=0.1) as runner:
        await begun.wait()
        runner.stop()
    go.set()
    stop()
    assert released == []
    assert house.state(handle.id) == "ready"
    assert house.history(handle.id) == []


async def test_a_runner_that_waits_for_its_first_answer_stops_at_once(leasehold_dsn):
    """Its database is away when it begins."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        away = f"postgresql://127.0.0.1:{nobody.getsockname()[1]}/none"
    runner = Runner({}, away, 1, Board(bytearray(Board.size(1)), 1), Pace(concurrency=1))
    running = asyncio.create_task(runner.run())
    await asyncio.sleep(0.05)
    runner.stop()
    async with asyncio.timeout(5):
        await running


async def test_an_idle_worker_stops_at_once(app, house):
    @app.task
    async def work() -> None: ...

    async with asyncio.timeout(5), app.worker(poll=60) as runner:
        await until(lambda: house.count("sleeper"))
        runner.stop()
