"""Each enqueue runs its jobs before it returns."""

import asyncio
import threading

import psycopg
import pytest

from leasehold import SendOn, current_job
from leasehold.errors import JobFailed, PayloadError
from leasehold.testing import Steps, inline


async def test_a_job_has_run_when_enqueue_returns(double, leasehold_app):
    with inline(leasehold_app):
        handle = await double.enqueue(4)
        assert (await handle.status()).state == "succeeded"
        assert await handle.result() == 8
    later = await double.enqueue(4)
    assert (await later.status()).state == "ready"


def test_no_event_loop_is_needed(app, double, halve):
    with app, inline(app):
        assert double.enqueue_sync(4).result_sync() == 8
        assert halve.enqueue_sync(4).result_sync() == 2


async def test_a_sync_enqueue_runs_beside_a_loop_that_waits(double, halve, leasehold_app):
    with inline(leasehold_app):
        assert [double.enqueue_sync(4).status_sync().state] == ["succeeded"]
        assert await halve.enqueue_sync(4).result() == 2


async def test_many_jobs_run_inline_too(double, leasehold_app):
    with inline(leasehold_app):
        handles = await double.enqueue_many([{"n": n} for n in range(4)])
        handles += double.enqueue_many_sync([{"n": n} for n in range(4)])
        assert [await handle.result() for handle in handles] == [0, 2, 4, 6] * 2


async def test_arguments_pass_the_door_as_always(double, leasehold_app):
    with inline(leasehold_app), pytest.raises(PayloadError):
        await double.enqueue("four")


async def test_a_failure_is_raised_where_the_result_is_asked_for(double, leasehold_app):
    with inline(leasehold_app):
        handle = await double.using(max_attempts=1).enqueue(-1)
        with pytest.raises(JobFailed, match="below zero"):
            await handle.result()


async def test_a_retry_waits_for_a_step(double, leasehold_app, leasehold_clock):
    with inline(leasehold_app):
        handle = await double.using(max_attempts=2).enqueue(-1)
        assert (await handle.status()).state == "scheduled"
    leasehold_clock.advance(60)
    async with Steps(leasehold_app) as steps:
        assert [ended.id for ended in await steps.run_all()] == [handle.id]


@pytest.mark.parametrize("options", [{"delay": 60}, {"hold": "look"}])
async def test_what_may_not_run_yet_stays_stored(double, leasehold_app, options):
    with inline(leasehold_app):
        handle = await double.using(**options).enqueue(4)
        assert (await handle.status()).attempts == 0
        assert not (await handle.status()).ended


async def test_a_taken_key_runs_nothing_twice(double, leasehold_app):
    with inline(leasehold_app):
        first = await double.using(key="k", delay=60).enqueue(4)
        second = await double.using(key="k").enqueue(5)
        assert (second.id, second.duplicate) == (first.id, True)
        assert (await first.status()).state == "scheduled"


async def test_a_callers_transaction_is_waited_for(double, leasehold_app, leasehold_dsn):
    async with Steps(leasehold_app) as steps:
        with inline(leasehold_app):
            async with await psycopg.AsyncConnection.connect(leasehold_dsn) as conn:
                mine = await double.using(conn=conn).enqueue(1)
                many = await double.using(conn=conn).enqueue_many([{"n": 2}])
                other = await double.enqueue(3)
            assert (await other.status()).state == "succeeded"
        ids = [mine.id, many[0].id]
        assert [ended.id for ended in await steps.run_all()] == ids


async def test_jobs_that_were_stored_before_stay_where_they_are(double, leasehold_app, house):
    before = [await double.enqueue(n) for n in range(3)]
    with inline(leasehold_app):
        assert await (await double.enqueue(4)).result() == 8
    assert house.ready() == [handle.id for handle in before]


async def test_a_job_that_is_sent_on_goes_on_at_once(app, leasehold_app):
    @app.task
    async def travel() -> SendOn | str:
        queues.append(current_job().queue)
        return SendOn(queue="there") if len(queues) == 1 else "here"

    queues: list[str] = []
    with inline(leasehold_app):
        assert await (await travel.enqueue()).result() == "here"
    assert queues == ["default", "there"]


async def test_a_job_may_wait_for_the_jobs_it_enqueues(app, double, leasehold_app):
    @app.task
    async def add(n: int) -> int:
        handles = [await double.enqueue(m) for m in range(n)]
        return sum([await handle.result() for handle in handles])

    with inline(leasehold_app):
        assert [
            await handle.result() for handle in await add.enqueue_many([{"n": 3}, {"n": 4}])
        ] == [6, 12]


async def test_enqueues_side_by_side_each_return_with_their_job_done(app, double, leasehold_app):
    @app.task
    async def add(n: int) -> int:
        handles = await asyncio.gather(*(double.enqueue(m) for m in range(n)))
        return sum([await handle.result() for handle in handles])

    with inline(leasehold_app):
        handles = await asyncio.gather(*(add.enqueue(n) for n in range(5)))
        assert [(await handle.status()).state for handle in handles] == ["succeeded"] * 5


@pytest.mark.parametrize("kind", ["thread", "async"])
def test_a_job_may_enqueue_without_its_loop(app, double, kind):
    def add(n: int) -> int:
        return sum(double.enqueue_sync(m).result_sync() for m in range(n))

    async def add_blocking(n: int) -> int:
        return add(n)

    outer = app.task({"thread": add, "async": add_blocking}[kind])
    with app, inline(app):
        assert outer.enqueue_sync(3).result_sync() == 6


def test_threads_enqueue_side_by_side(app, halve):
    states = []

    def enqueue() -> None:
        states.append(halve.enqueue_sync(4).status_sync().state)

    with app, inline(app):
        threads = [threading.Thread(target=enqueue) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert states == ["succeeded"] * 4


async def test_an_endless_chain_fails_at_its_end(app, leasehold_app, house):
    @app.task
    async def again(n: int) -> None:
        await again.using(max_attempts=1).enqueue(n + 1)

    with inline(leasehold_app, depth=3):
        first = await again.using(max_attempts=1).enqueue(1)
    assert (await first.status()).state == "succeeded"
    assert house.rows("select error ->> 'type', payload ->> 'n' from leasehold.dead") == [
        ("EndlessChain", "3")
    ]


async def test_process_tasks_run_inline(errands):
    with inline(errands.app):
        assert await (await errands.asynchronous.enqueue(1)).result() == 2
        assert errands.asynchronous.enqueue_sync(1).status_sync().state == "succeeded"


async def test_an_app_is_itself_again_afterwards(double, leasehold_app, house):
    with inline(leasehold_app), inline(leasehold_app):
        await double.enqueue(4)
    assert "enqueue" not in vars(leasehold_app)
    assert house.rows("select from leasehold.worker") == []
