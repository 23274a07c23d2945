"""Runs are stopped by time-outs and by people; a run has ended only when its code has stopped."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from fleet.crew import is_there
from leasehold import Retry, current_job
from leasehold.errors import JobCancelled, JobExpired, JobFailed
from leasehold.observe import event
from runner.waiting import until

ONCE = Retry(1)


async def test_an_attempt_that_takes_too_long_fails_with_its_timeout(app, house):
    @app.task(timeout=0.05, retry=Retry(2, backoff="fixed", base=0))
    async def slow() -> None:
        await asyncio.Event().wait()

    async with app.worker(poll=0.05):
        handle = await slow.enqueue()
        with pytest.raises(JobFailed, match=r"TimedOut.*0\.05 s"):
            await handle.result(timeout=10)
    assert house.history(handle.id) == ["retried", "failed"]


async def test_a_jobs_own_timeout_goes_over_the_tasks(app, house):
    @app.task(timeout=3_600, retry=ONCE)
    async def slow() -> None:
        await asyncio.Event().wait()

    async with app.worker(poll=0.05):
        handle = await slow.using(timeout=0.05).enqueue()
        with pytest.raises(JobFailed, match="TimedOut"):
            await handle.result(timeout=10)


async def test_a_job_past_its_deadline_expires_before_it_runs(app, house):
    @app.task
    async def never() -> None:
        raise AssertionError

    handle = await never.using(deadline=5, delay=3).enqueue()
    house.pass_time(10)
    async with app.worker(poll=0.05, queues=("elsewhere",)):
        with pytest.raises(JobExpired, match="deadline"):
            await handle.result(timeout=10)


async def test_a_job_that_waits_is_cancelled_at_once(app, house):
    @app.task
    async def never() -> None:
        raise AssertionError

    handle = await never.enqueue()
    assert await handle.cancel("changed my mind") == "cancelled"
    with pytest.raises(JobCancelled, match="changed my mind"):
        await handle.result(timeout=10)
    assert await handle.cancel() == "ended"


async def test_a_running_async_job_is_cancelled_where_it_waits(app, house):
    begun = asyncio.Event()
    cleaned = []

    @app.task
    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(current_job().cancelled)

    async with app.worker(poll=0.05):
        handle = await waits.enqueue()
        await begun.wait()
        assert await handle.cancel("enough") == "requested"
        with pytest.raises(JobCancelled, match="enough"):
            await handle.result(timeout=10)
    assert cleaned == [True]


async def test_a_job_that_swallows_the_first_cancellation_is_told_again(app, house):
    begun = asyncio.Event()

    @app.task
    async def stubborn() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    async with app.worker(poll=0.05):
        handle = await stubborn.enqueue()
        await begun.wait()
        await handle.cancel()
        with pytest.raises(JobCancelled):
            await handle.result(timeout=10)


async def test_a_job_that_finishes_all_the_same_has_succeeded(app, short_lease):
    """Whoever catches it and returns has done the work: a finish that comes first wins."""
    begun = asyncio.Event()

    @app.task
    async def stubborn() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done all the same"

    @app.task
    async def next_one() -> int:
        return 1

    async with app.worker(poll=0.05, concurrency=1):
        handle = await stubborn.enqueue()
        await begun.wait()
        await handle.cancel()
        assert await handle.result(timeout=10) == "done all the same"
        assert await (await next_one.enqueue()).result(timeout=10) == 1


async def test_a_job_in_a_thread_is_told_and_stops_where_it_is_safe(app, house):
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    @app.task
    def looks() -> None:
        loop.call_soon_threadsafe(begun.set)
        while True:
            current_job().stop_if_cancelled()
            time.sleep(0.01)

    async with app.worker(poll=0.05):
        handle = await looks.enqueue()
        await begun.wait()
        assert await handle.cancel("enough") == "requested"
        with pytest.raises(JobCancelled, match="enough"):
            await handle.result(timeout=10)


async def test_a_thread_that_does_not_look_keeps_its_slot_and_ends_as_it_will(app, house):
    begun, go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @app.task(timeout=0.05, retry=ONCE)
    def deaf() -> str:
        loop.call_soon_threadsafe(begun.set)
        go.wait()
        return "late"

    async with app.worker(poll=0.05):
        handle = await deaf.enqueue()
        await begun.wait()
        await until(lambda: house.count("running"))
        assert house.state(handle.id) == "running"
        go.set()
        assert await handle.result(timeout=10) == "late"


async def test_a_job_that_waits_for_a_thread_is_cancelled_and_never_begins(app, house):
    go = threading.Event()
    ran = []

    @app.task
    def first() -> None:
        go.wait()

    @app.task
    def second() -> None:
        ran.append(1)

    async with app.worker(poll=0.05, threads=1):
        handles = [await first.enqueue(), await second.enqueue()]
        await until(lambda: house.state(handles[0].id) == "running")
        await handles[1].cancel("enough")
        with pytest.raises(JobCancelled, match="enough"):
            await handles[1].result(timeout=5)
        go.set()
        await handles[0].result(timeout=10)
    assert ran == []


async def test_a_wish_that_each_beat_repeats_cancels_once(app, house, monkeypatch):
    """It stands until the job has ended; only the pause of NUDGE tells a job again."""
    monkeypatch.setattr("leasehold.runner.slot.NUDGE", 60)
    told, wishes = [], []
    begun, go = asyncio.Event(), asyncio.Event()

    @app.task
    async def stubborn() -> None:
        begun.set()
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                told.append(1)

    stop = event.listen(
        lambda happened: happened.verb == "beat" and wishes.extend(happened.answer["cancel"])
    )
    async with app.worker(poll=0.05) as runner:
        handle = await stubborn.enqueue()
        await begun.wait()
        await handle.cancel()
        await until(lambda: runner.runner.beat_now() or len(wishes) > 5)
        go.set()
        await handle.result(timeout=10)
    stop()
    assert told == [1]


async def test_a_process_job_is_cancelled_with_its_process_and_the_others_live(
    errands, house, tmp_path
):
    sign = tmp_path / "sign"
    async with errands.app.worker(poll=0.05):
        other = await (await errands.pid.enqueue()).result(timeout=20)
        handle = await errands.hangs.enqueue(str(sign))
        pid = await written(sign)
        await handle.cancel("enough")
        with pytest.raises(JobCancelled, match="enough"):
            await handle.result(timeout=10)
        assert not is_there(pid)
        assert await (await errands.pid.enqueue()).result(timeout=20) != pid
    assert not is_there(other)


async def test_a_process_that_ignores_the_polite_signal_is_killed(
    errands, house, tmp_path, monkeypatch
):
    monkeypatch.setattr("leasehold.runner.run_process.POLITE", 1.5)
    sign = tmp_path / "sign"
    async with errands.app.worker(poll=0.05):
        handle = await errands.hangs_and_will_not_stop.enqueue(str(sign))
        pid = await written(sign)
        await handle.cancel()
        with pytest.raises(JobCancelled):
            await handle.result(timeout=20)
        assert not is_there(pid)


async def test_what_a_process_job_started_is_gone_when_it_is_cancelled(errands, house, tmp_path):
    sign = tmp_path / "sign"
    async with errands.app.worker(poll=0.05):
        handle = await errands.starts_a_program.enqueue(str(sign))
        pid = await written(sign)
        await handle.cancel()
        with pytest.raises(JobCancelled):
            await handle.result(timeout=10)
        await until(lambda: not is_there(pid), 5)


async def written(sign: Path) -> int:
    await until(lambda: sign.exists() and sign.read_text())
    return int(sign.read_text())  # noqa: ASYNC240 - a few bytes


async def test_a_runner_leaves_its_process_when_jobs_do_not_stop(app, house, caplog, monkeypatch):
    monkeypatch.setattr("leasehold.runner.run.STUCK", 0.1)
    go = threading.Event()

    @app.task(timeout=0.05)
    def hangs() -> None:
        go.wait(20)

    await hangs.enqueue_many({} for _ in range(2))
    async with app.worker(threads=2, poll=0.05, grace=0):
        await until(lambda: "2 jobs do not stop" in caplog.text)
        go.set()
    assert caplog.text.count("was told to stop (timeout) and goes on") == 2
