"""Jobs run one by one, when the test says so, and the way they run in production."""

import asyncio
import contextvars
from contextlib import suppress
from datetime import timedelta

import psycopg
import pytest

from leasehold import Cancel, SendOn, Snooze, TryAgain, current_job
from leasehold.errors import EndlessChain
from leasehold.testing import Failure, Steps
from testing.conftest import MINUTE


async def test_a_step_runs_one_job_and_says_what_came_of_it(double, leasehold_steps):
    first, second = await double.enqueue(4), await double.enqueue(5)
    ended = await leasehold_steps.run_next()
    assert (ended.id, ended.task, ended.queue, ended.attempt) == (first.id, "double", "default", 1)
    assert (ended.state, ended.result, ended.error, ended.exception) == ("succeeded", 8, None, None)
    assert (await second.status()).state == "ready"


async def test_a_step_without_a_job_that_may_run_answers_none(double, leasehold_steps):
    await double.using(delay=60).enqueue(4)
    await double.using(hold="look at it").enqueue(4)
    await double.using(queue="elsewhere").enqueue(4)
    assert await leasehold_steps.run_next() is None


async def test_steps_take_jobs_in_the_order_of_a_worker(double, halve, leasehold_steps):
    await double.enqueue(1)
    await halve.using(priority=7).enqueue(2)
    await double.enqueue(3)
    assert [ended.result for ended in await leasehold_steps.run_all()] == [1, 2, 6]


async def test_steps_serve_the_queues_they_are_given(double, leasehold_app):
    await double.enqueue(1)
    await double.using(queue="elsewhere").enqueue(2)
    async with Steps(leasehold_app, queues=["elsewhere"]) as steps:
        assert [ended.result for ended in await steps.run_all()] == [4]


async def test_a_failed_run_brings_its_error_and_the_exception_itself(double, leasehold_steps):
    handle = await double.enqueue(-1)
    ended = await leasehold_steps.run_next()
    assert (ended.state, ended.result) == ("scheduled", None)
    assert ended.error == Failure("ValueError", "below zero")
    assert isinstance(ended.exception, ValueError)
    assert (await handle.status()).attempts == 1


async def test_a_retry_is_due_when_the_clock_says_so(double, leasehold_steps, leasehold_clock):
    await double.enqueue(-1)
    states = []
    for _ in range(3):
        states += [ended.state for ended in await leasehold_steps.run_all()]
        leasehold_clock.advance(60)
    assert states == ["scheduled", "scheduled", "failed"]


@pytest.mark.parametrize("wait", [61, timedelta(days=3)])
async def test_leases_outlast_a_clock_that_is_moved(double, leasehold_steps, leasehold_clock, wait):
    for n in range(3):
        handle = await double.using(delay=wait).enqueue(n)
        assert await leasehold_steps.run_next() is None
        leasehold_clock.advance(wait)
        assert (await leasehold_steps.run_next()).id == handle.id


async def test_a_step_goes_on_after_its_lease_was_taken(double, leasehold_steps, house):
    await double.enqueue(1)
    await leasehold_steps.run_next()
    house.do("update leasehold.runner set dead_at = leasehold.now()")
    await double.enqueue(2)
    assert (await leasehold_steps.run_next()).result == 4


async def test_a_job_past_its_deadline_expires_and_does_not_run(
    double, leasehold_steps, leasehold_clock
):
    handle = await double.using(deadline=timedelta(minutes=1)).enqueue(1)
    leasehold_clock.advance(61)
    assert await leasehold_steps.run_next() is None
    assert (await handle.status()).state == "expired"


async def test_a_deadline_and_a_time_out_end_a_run(app, leasehold_steps, leasehold_clock):
    @app.task
    async def wait() -> None:
        await asyncio.Event().wait()

    leasehold_clock.advance(3_000)
    await wait.using(deadline=timedelta(milliseconds=300)).enqueue()
    assert (await leasehold_steps.run_next()).state == "expired"
    await wait.using(timeout=0.01, max_attempts=1).enqueue()
    ended = await leasehold_steps.run_next()
    assert (ended.state, ended.error.type) == ("failed", "TimedOut")


@pytest.mark.parametrize(
    ("outcome", "state", "error"),
    [
        (Snooze(60), "scheduled", None),
        (TryAgain(60, "busy"), "scheduled", ("TryAgain", "busy")),
        (Cancel("not wanted"), "cancelled", ("Cancelled", "not wanted")),
        (SendOn(queue="elsewhere"), "ready", None),
    ],
)
@pytest.mark.parametrize("way", ["return", "raise"])
async def test_an_outcome_ends_a_run_as_it_does_in_a_worker(
    app, leasehold_steps, outcome, state, error, way
):
    @app.task
    async def choose() -> None:
        if way == "raise":
            raise outcome
        return outcome

    await choose.enqueue()
    ended = await leasehold_steps.run_next()
    assert (ended.state, ended.error, ended.exception) == (state, error, outcome)


async def test_jobs_that_jobs_enqueue_run_too(app, double, leasehold_steps):
    @app.task
    async def split(n: int) -> None:
        await double.enqueue(n)
        await double.using(delay=60).enqueue(n)

    await split.enqueue(3)
    assert [ended.task for ended in await leasehold_steps.run_all()] == ["split", "double"]


async def test_an_endless_chain_is_named(app, leasehold_steps):
    @app.task
    async def again() -> None:
        await again.enqueue()

    last = await again.enqueue()
    with pytest.raises(EndlessChain, match="3 jobs ran, and a again may run now"):
        await leasehold_steps.run_all(limit=3)
    assert (await last.status()).state == "succeeded"
    assert await leasehold_steps.run_next()


async def test_a_limit_that_is_just_enough_is_enough(double, leasehold_steps):
    await double.enqueue_many([{"n": n} for n in range(3)])
    assert len(await leasehold_steps.run_all(limit=3)) == 3


async def test_a_result_that_cannot_be_kept_is_named(app, leasehold_steps):
    @app.task
    async def odd() -> object:
        return object()

    await odd.enqueue()
    ended = await leasehold_steps.run_next()
    assert (ended.state, ended.result, ended.error.type) == ("succeeded", None, "ResultNotStored")


async def test_tasks_that_are_defined_later_run_too(app, double, leasehold_steps):
    await double.enqueue(1)
    await leasehold_steps.run_next()

    @app.task(queue="elsewhere")
    def late() -> str:
        return "late"

    await late.enqueue()
    assert (await leasehold_steps.run_next()).result == "late"


async def test_a_job_knows_itself_and_what_it_saved(app, leasehold_steps, leasehold_clock):
    @app.task(retry=MINUTE)
    async def read() -> list[int]:
        job = current_job()
        seen = await job.checkpoint() or []
        await job.save([*seen, job.attempt])
        job.progress(50, "half")
        if len(seen) < 2:
            raise TryAgain
        return seen

    handle = await read.enqueue()
    await leasehold_steps.run_next()
    status = await handle.status()
    assert (status.progress, status.note) == (50, "half")
    leasehold_clock.advance(60)
    await leasehold_steps.run_next()
    leasehold_clock.advance(60)
    assert (await leasehold_steps.run_next()).result == [1, 2]


async def test_a_job_ends_within_its_own_transaction(app, leasehold_dsn, leasehold_steps):
    @app.task
    async def book(fails: bool) -> None:
        job = current_job()
        async with (
            await psycopg.AsyncConnection.connect(leasehold_dsn) as conn,
            job.finishing(conn, result="booked"),
        ):
            await conn.execute("create table booked ()")
            if fails:
                raise ValueError

    await book.using(max_attempts=1).enqueue(fails=True)
    await book.enqueue(fails=False)
    failed, succeeded = await leasehold_steps.run_all()
    assert (failed.state, succeeded.state, succeeded.result) == ("failed", "succeeded", "booked")


async def test_thread_tasks_run_and_save_too(app, leasehold_steps):
    @app.task
    def save() -> int:
        current_job().save_sync({"page": 7})
        return current_job().checkpoint_sync()["page"]

    await save.enqueue()
    assert (await leasehold_steps.run_next()).result == 7


async def test_a_process_task_runs_in_its_process(errands, leasehold_clock):
    async with Steps(errands.app) as steps:
        mirrored = await errands.mirrored.enqueue(errands.Point(1, 2))
        await errands.raises.enqueue("not today")
        await errands.remembers.using(max_attempts=2).enqueue()
        first, second, third, last = await steps.run_all()
        assert (first.id, first.result) == (mirrored.id, errands.Point(2, 1))
        assert (second.state, second.error) == ("failed", ("ValueError", "not today"))
        assert second.exception is None
        assert (third.state, last.result) == ("ready", {"page": 3})


async def test_a_job_sees_no_context_of_its_test(app, leasehold_steps):
    who = contextvars.ContextVar("who", default="nobody")

    @app.task
    async def ask() -> str:
        return who.get()

    who.set("the test")
    await ask.enqueue()
    assert (await leasehold_steps.run_next()).result == "nobody"


async def test_a_step_that_is_cancelled_gives_its_job_back(app, leasehold_steps):
    began = asyncio.Event()

    @app.task
    async def wait() -> None:
        began.set()
        await asyncio.Event().wait()

    handle = await wait.enqueue()
    step = asyncio.create_task(leasehold_steps.run_next())
    await began.wait()
    step.cancel()
    with suppress(asyncio.CancelledError):
        await step
    status = await handle.status()
    assert (status.state, status.attempts) == ("ready", 0)


async def test_nothing_is_held_when_steps_end(double, leasehold_app, house):
    async with Steps(leasehold_app) as steps:
        await double.enqueue(1)
        await steps.run_next()
    assert house.rows("select from leasehold.worker") == []


def test_steps_go_without_an_event_loop(app, double, halve, leasehold_clock):
    with app, Steps(app) as steps:
        double.enqueue_sync(-1)
        halve.enqueue_sync(8)
        assert steps.run_next_sync().state == "scheduled"
        leasehold_clock.advance(60)
        assert [ended.state for ended in steps.run_all_sync()] == ["succeeded", "scheduled"]
        assert steps.run_next_sync() is None


def test_jobs_of_sync_steps_enqueue_and_wait(app, double):
    @app.task
    async def split(n: int) -> int:
        return (await (await double.enqueue(n)).status()).attempts

    with app, Steps(app) as steps:
        split.enqueue_sync(2)
        assert [ended.result for ended in steps.run_all_sync()] == [0, 4]


async def test_sync_steps_go_beside_a_loop_that_runs(double, leasehold_steps):
    double.enqueue_sync(4)
    assert leasehold_steps.run_next_sync().result == 8
    await double.enqueue(5)
    assert (await leasehold_steps.run_next()).result == 10
