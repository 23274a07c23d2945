"""A function decides how its run ends: a result, an error, or an outcome, returned or raised."""

import asyncio

import pytest

from leasehold import Cancel, Fail, Retry, SendOn, Snooze, TryAgain, current_job
from leasehold.errors import JobCancelled, JobFailed
from runner.waiting import until

AT_ONCE = Retry(3, backoff="fixed", base=0)


class Flaky(Exception):
    pass


@pytest.mark.parametrize("how", ["returned", "raised"])
@pytest.mark.parametrize(
    ("outcome", "error", "text"),
    [
        (Cancel("not wanted"), JobCancelled, "not wanted"),
        (Fail("no use"), JobFailed, "Fail: no use"),
    ],
)
async def test_cancel_and_fail_end_the_job_at_once(app, house, how, outcome, error, text):
    @app.task(retry=AT_ONCE)
    async def ends() -> None:
        if how == "raised":
            raise outcome
        return outcome

    async with app.worker(poll=0.05):
        handle = await ends.enqueue()
        with pytest.raises(error, match=text):
            await handle.result(timeout=10)
    assert len(house.history(handle.id)) == 1


@pytest.mark.parametrize("how", ["returned", "raised"])
async def test_snooze_uses_up_no_attempt(app, house, how):
    runs = []

    @app.task(retry=Retry(1))
    async def naps() -> int:
        runs.append(current_job().attempt)
        if len(runs) < 4:
            if how == "raised":
                raise Snooze(0)
            return Snooze(0)
        return len(runs)

    async with app.worker(poll=0.05):
        handle = await naps.enqueue()
        assert await handle.result(timeout=10) == 4
    assert runs == [1, 1, 1, 1]
    assert house.history(handle.id) == ["succeeded"]


@pytest.mark.parametrize("how", ["returned", "raised"])
async def test_try_again_uses_up_an_attempt_and_ends_failed(app, house, how):
    @app.task(retry=AT_ONCE)
    async def again() -> None:
        if how == "raised":
            raise TryAgain(0, "not yet")
        return TryAgain(0, "not yet")

    async with app.worker(poll=0.05):
        handle = await again.enqueue()
        with pytest.raises(JobFailed, match="TryAgain: not yet"):
            await handle.result(timeout=10)
    assert house.history(handle.id) == ["retried", "retried", "failed"]


async def test_an_error_is_retried_by_the_rule_and_the_attempts_are_counted(app, house):
    attempts = []

    @app.task(retry=AT_ONCE)
    async def flaky() -> str:
        attempts.append(current_job().attempt)
        if len(attempts) < 3:
            raise Flaky("later")
        return "done"

    async with app.worker(poll=0.05):
        handle = await flaky.enqueue()
        assert await handle.result(timeout=10) == "done"
    assert attempts == [1, 2, 3]
    assert house.history(handle.id) == ["retried", "retried", "succeeded"]
    assert (await handle.status()).attempts == 3


async def test_a_jobs_own_max_attempts_goes_over_the_tasks(app, house):
    @app.task(retry=Retry(5, backoff="fixed", base=0))
    async def flaky() -> None:
        raise Flaky("no")

    async with app.worker(poll=0.05):
        handle = await flaky.using(max_attempts=2).enqueue()
        with pytest.raises(JobFailed, match="Flaky: no"):
            await handle.result(timeout=10)
    assert house.history(handle.id) == ["retried", "failed"]


@pytest.mark.parametrize(
    ("rule", "wait"),
    [
        (Retry(5, base=7, jitter=0), 7),
        (Retry(5, backoff="quadratic", base=11, jitter=0), 11),
        (Retry(5, backoff=[13, 100], jitter=0), 13),
        (Retry(5, backoff=lambda attempt: 16 + attempt, jitter=0), 17),
    ],
)
async def test_the_retry_waits_as_long_as_its_rule_says(app, house, rule, wait):
    ran = asyncio.Event()

    @app.task(retry=rule)
    async def flaky() -> None:
        ran.set()
        raise Flaky("later")

    async with app.worker(poll=0.05):
        handle = await flaky.enqueue()
        await ran.wait()
    sql = "select extract(epoch from s.run_at - a.ended_at) from leasehold.scheduled s "
    sql += "join leasehold.attempt a on a.job_id = s.job_id where s.job_id = %s"
    assert float(house.value(sql, handle.id)) == wait


SORTED = Retry(
    3, backoff="fixed", base=0, terminal=(KeyError,), transient=(OSError,), unknown="fail"
)


@pytest.mark.parametrize(
    ("error", "history"),
    [
        (KeyError("gone"), ["failed"]),
        (ConnectionError("later"), ["retried", "retried", "failed"]),
        (Flaky("what"), ["failed"]),
    ],
)
async def test_errors_are_sorted_into_transient_terminal_and_unknown(app, house, error, history):
    @app.task(retry=SORTED)
    async def fails() -> None:
        raise error

    async with app.worker(poll=0.05):
        handle = await fails.enqueue()
        with pytest.raises(JobFailed, match=type(error).__name__):
            await handle.result(timeout=10)
    assert house.history(handle.id) == history
    assert "fails" in house.attempt(handle.id)["error"]["trace"]


async def test_send_on_takes_the_job_elsewhere_with_its_state(app, house):
    @app.task
    async def travels() -> object:
        job = current_job()
        if job.queue == "default":
            return SendOn(queue="second", priority=3, state={"page": 2}, metadata={"by": "me"})
        return [job.queue, await job.checkpoint(), await job.metadata()]

    async with app.worker(poll=0.05, queues=("default", "second")):
        handle = await travels.enqueue()
        assert await handle.result(timeout=10) == ["second", {"page": 2}, {"by": "me"}]
    assert house.history(handle.id) == ["sent_on", "succeeded"]


@pytest.mark.parametrize("state", [object(), {"text": "\0"}, float("nan"), {1: {2: object()}}])
async def test_a_state_that_cannot_be_kept_fails_its_own_job_only(app, house, state):
    @app.task(retry=Retry(1))
    async def travels() -> None:
        raise SendOn(queue="second", state=state)

    @app.task
    async def good() -> int:
        return 1

    async with app.worker(poll=0.05):
        handle = await travels.enqueue()
        with pytest.raises(JobFailed, match="state"):
            await handle.result(timeout=10)
        assert await (await good.enqueue()).result(timeout=10) == 1


@pytest.mark.parametrize("delay", [5, 3_600])
async def test_a_snooze_lasts_as_long_as_it_said(app, house, delay):
    ran = asyncio.Event()

    @app.task
    async def naps() -> str:
        if ran.is_set():
            return "rested"
        ran.set()
        raise Snooze(delay)

    async with app.worker(poll=0.05):
        handle = await naps.enqueue()
        await ran.wait()
        await until(lambda: house.state(handle.id) == "scheduled")
        house.pass_time(delay + 1)
        assert await handle.result(timeout=10) == "rested"
