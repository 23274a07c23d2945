"""What a function may know of its job, and say: all without a write of its own where it can be."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from leasehold import Retry, current_job
from leasehold.errors import JobFailed, LeaseLost, NoCurrentJob, PayloadError
from leasehold.observe import event
from runner.waiting import until

TWICE = Retry(2, backoff="fixed", base=0)


def test_outside_of_a_job_there_is_none():
    with pytest.raises(NoCurrentJob, match="inside a task's function"):
        current_job()


@pytest.mark.parametrize("run", ["async", "thread"])
async def test_a_job_knows_itself(app, house, run):
    def tells() -> dict:
        job = current_job()
        return {
            "id": str(job.id),
            "fence": job.fence,
            "attempt": job.attempt,
            "tenant": job.tenant,
            "headers": job.headers,
            "deadline": job.deadline,
            "most": job.max_attempts,
            "queue": job.queue,
            "task": job.task,
        }

    async def tells_async() -> dict:
        return tells()

    task = app.task(name="tells")(tells_async if run == "async" else tells)
    until = datetime.now(UTC).replace(microsecond=5) + timedelta(hours=1)
    said = {"tenant": "acme", "headers": {"trace": "x"}, "deadline": until, "max_attempts": 9}
    async with app.worker(poll=0.05):
        handle = await task.using(**said).enqueue()
        answer = await handle.result(timeout=10)
    assert datetime.fromisoformat(answer.pop("deadline")) == until
    assert answer == {
        "id": str(handle.id),
        "fence": f"{handle.id}:1",
        "attempt": 1,
        "tenant": "acme",
        "headers": {"trace": "x"},
        "most": 9,
        "queue": "default",
        "task": "tells",
    }


async def test_a_job_without_headers_and_deadline_has_none(app, house):
    @app.task
    async def tells() -> list:
        return [current_job().headers, current_job().deadline]

    async with app.worker(poll=0.05):
        assert await (await tells.enqueue()).result(timeout=10) == [{}, None]


async def test_the_fence_differs_from_run_to_run(app, house):
    fences = []

    @app.task(retry=TWICE)
    async def flaky() -> None:
        fences.append(current_job().fence)
        if len(fences) == 1:
            raise RuntimeError

    async with app.worker(poll=0.05):
        handle = await flaky.enqueue()
        await handle.result(timeout=10)
    assert fences == [f"{handle.id}:1", f"{handle.id}:2"]


async def test_progress_rides_on_the_heartbeat(app, short_lease):
    seen = asyncio.Event()

    @app.task
    async def works() -> None:
        for n in range(1_000):
            current_job().progress(n / 10, f"page {n}")
        await seen.wait()

    saves = []
    stop = event.listen(lambda happened: saves.append(happened.verb))
    async with app.worker(poll=0.05):
        handle = await works.enqueue()
        status = await until(lambda: shown(handle, "progress"))
        assert (status.progress, status.note) == (pytest.approx(99.9), "page 999")
        seen.set()
        await handle.result(timeout=10)
        assert (await handle.status()).progress == 100
    stop()
    assert saves.count("save") == 1


@pytest.mark.parametrize("note", ["NUL \0 here", "half \ud800 a pair", "x" * 5_000])
async def test_a_note_that_cannot_be_stored_as_it_is_harms_nobody(app, short_lease, note):
    seen = asyncio.Event()

    @app.task
    async def works() -> None:
        current_job().progress(float("nan") if note.startswith("x") else 250, note)
        await seen.wait()

    async with app.worker(poll=0.05):
        handle = await works.enqueue()
        status = await until(lambda: shown(handle, "note"))
        seen.set()
        await handle.result(timeout=10)
    assert len(status.note) <= 2_000


@pytest.mark.parametrize("run", ["async", "thread"])
async def test_what_an_attempt_saved_the_next_one_reads(app, house, run):
    def body_sync() -> object:
        job = current_job()
        if job.attempt == 2:
            return job.checkpoint_sync()
        assert job.checkpoint_sync() is None
        job.save_sync({"page": 3})
        raise RuntimeError

    async def body() -> object:
        job = current_job()
        if job.attempt == 2:
            return await job.checkpoint()
        assert await job.checkpoint() is None
        await job.save({"page": 3})
        raise RuntimeError

    task = app.task(name="remembers", retry=TWICE)(body if run == "async" else body_sync)
    async with app.worker(poll=0.05):
        assert await (await task.enqueue()).result(timeout=10) == {"page": 3}


async def test_a_save_for_threads_in_an_async_function_raises_and_does_not_hang(app, house):
    """It would wait for the loop that waits for it."""

    @app.task(retry=Retry(1))
    async def saves() -> None:
        current_job().save_sync({"page": 3})

    async with app.worker(poll=0.05):
        with pytest.raises(JobFailed, match=r"are for threads: await save\(\)"):
            await (await saves.enqueue()).result(timeout=10)


async def test_saving_after_the_lease_was_lost_says_so(app, house):
    begun, go = asyncio.Event(), asyncio.Event()
    raised = []

    @app.task
    async def saves() -> str:
        if raised:
            return "second run"
        begun.set()
        await go.wait()
        try:
            await current_job().save({"page": 3})
        except LeaseLost as error:
            raised.append(error)
            raise
        return "first run"

    async with app.worker(poll=0.05) as first:
        handle = await saves.enqueue()
        await begun.wait()
        house.do("select leasehold.reap(10, %s, '{}')", first.number)
        go.set()
        await until(lambda: raised)
        async with app.worker(poll=0.05):
            assert await handle.result(timeout=10) == "second run"
    assert house.count("checkpoint") == 0


async def shown(handle, what):
    """The job's status, once it tells this of it."""
    status = await handle.status()
    return status if getattr(status, what) is not None else None


@pytest.mark.parametrize("data", [object(), "a\0b", float("nan")])
async def test_what_cannot_be_saved_is_refused_where_it_is_saved(app, data):
    @app.task(retry=Retry(1))
    async def keeps() -> str:
        with pytest.raises(PayloadError, match=r"keeps: save\(\).*cannot be kept"):
            await current_job().save(data)
        return "and goes on"

    async with app.worker(poll=0.05):
        assert await (await keeps.enqueue()).result(timeout=10) == "and goes on"
