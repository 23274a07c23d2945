"""Bad inputs 11, 12 and 23: what a job brings or leaves behind never harms another."""

import asyncio
import re

import msgspec
import pytest

from leasehold import Retry, current_job
from leasehold.errors import JobFailed, ResultNotStored
from leasehold.observe import event
from leasehold.runner import finisher, run
from runner.waiting import until

ONCE = Retry(1)


class Silent(Exception):
    def __str__(self):
        raise ValueError("no text")


class Opaque:
    pass


UNSTORABLE = {
    "too big": ("x" * 2_000_000, "the limit is"),
    "no codec": (Opaque(), "cannot be encoded"),
    "NUL": ({"a": ["\0"]}, "NUL"),
    "a surrogate": ("\ud800", "cannot be encoded"),
    "NaN": ([float("nan")], "NaN"),
    "no JSON after all": (msgspec.Raw(b"{"), "the database refused it"),
    "a number beyond numeric": (msgspec.Raw(b"1e999999"), "the database refused it"),
}


@pytest.mark.parametrize("what", UNSTORABLE)
async def test_a_result_that_cannot_be_stored_leaves_the_job_succeeded(app, house, what):
    value, problem = UNSTORABLE[what]

    @app.task
    async def brings() -> object:
        return value

    @app.task
    async def good(n: int) -> int:
        return n

    bad = await brings.enqueue()
    others = await good.enqueue_many({"n": n} for n in range(20))
    async with app.worker(poll=0.05):
        with pytest.raises(ResultNotStored, match=re.escape(problem)):
            await bad.result(timeout=10)
        assert [await handle.result(timeout=10) for handle in others] == list(range(20))
    assert house.history(bad.id) == ["succeeded"]


async def test_large_results_are_written_in_several_statements(app, house, monkeypatch):
    monkeypatch.setattr(finisher, "BYTES", 10_000)
    gate = asyncio.Event()
    finished = []

    @app.task
    async def brings() -> str:
        await gate.wait()
        return "x" * 4_000

    handles = await brings.enqueue_many([{}] * 10)
    async with app.worker(poll=0.05) as runner:
        await until(lambda: runner.runner.busy == 10)
        stop = event.listen(lambda happened: happened.verb == "finish" and finished.append(1))
        gate.set()
        results = [await handle.result(timeout=10) for handle in handles]
    stop()
    assert results == ["x" * 4_000] * 10
    assert len(finished) == 5


async def test_a_bad_result_and_a_failure_in_one_batch_do_not_stand_in_each_others_way(app, house):
    gate = asyncio.Event()

    @app.task
    async def brings() -> object:
        await gate.wait()
        return msgspec.Raw(b"{")

    @app.task(retry=ONCE)
    async def fails() -> None:
        await gate.wait()
        raise ValueError("no")

    handles = [await brings.enqueue(), await fails.enqueue()]
    async with app.worker(poll=0.05):
        await until(lambda: not house.count("ready"))
        gate.set()
        with pytest.raises(ResultNotStored, match="the database refused it"):
            await handles[0].result(timeout=10)
        with pytest.raises(JobFailed, match="ValueError: no"):
            await handles[1].result(timeout=10)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Silent(), "its text cannot be shown: ValueError"),
        (ValueError("a \0 b"), "ValueError: a \N{SYMBOL FOR NULL} b"),
        (ValueError("half \ud800"), "ValueError: half"),
        (ValueError("x" * 50_000_000), "50,000,000 characters in all"),
    ],
)
async def test_an_error_with_any_text_ends_its_job_and_is_kept(app, house, error, text):
    @app.task(retry=ONCE)
    async def fails() -> None:
        raise error

    async with app.worker(poll=0.05):
        handle = await fails.enqueue()
        with pytest.raises(JobFailed) as caught:
            await handle.result(timeout=10)
    assert text in str(caught.value)
    assert len(str(house.attempt(handle.id)["error"])) < 40_000


async def test_a_payload_of_another_signature_is_charged_and_shows_both(app, house):
    @app.task(retry=Retry(2, backoff="fixed", base=0))
    async def greet(name: str, loud: bool = False) -> None:
        raise AssertionError

    old = house.enqueue(task="greet", payload={"user": "ann"})
    async with app.worker(poll=0.05):
        with pytest.raises(
            JobFailed, match=r"PayloadMismatch: greet.*user: str.*name: str"
        ) as told:
            await app.job(old).result(timeout=10)
    assert "loud: bool" in str(told.value)
    assert house.history(old) == ["retried", "failed"]
    assert house.entry("dead", old)["payload"] == {"user": "ann"}


FULL = """
create or replace function leasehold_full() returns trigger language plpgsql as
$$ begin raise exception using errcode = '53100', message = 'no space left'; end $$
"""
ROOM_AGAIN = """
create or replace function leasehold_full() returns trigger language plpgsql as
$$ begin return new; end $$
"""


@pytest.fixture
def full_disk(house):
    """No end of a run can be written, as on a full disk, until there is ROOM_AGAIN."""
    house.do(FULL)
    house.do(
        "create trigger disk_is_full before insert on leasehold.attempt "
        "for each row execute function leasehold_full()"
    )


def tries(caplog):
    return caplog.text.count("the ends of runs cannot be written yet")


async def test_a_disk_that_is_full_for_long_loses_no_end(
    app, house, full_disk, monkeypatch, caplog
):
    monkeypatch.setattr(finisher, "PAUSES", (0.01, 0.01))
    ran = []

    @app.task
    async def work(n: int) -> int:
        ran.append(n)
        return n

    handles = await work.enqueue_many({"n": n} for n in range(10))
    async with app.worker(poll=0.05):
        await until(lambda: len(ran) == 10 and tries(caplog) > 20)
        house.do(ROOM_AGAIN)
        assert [await handle.result(timeout=10) for handle in handles] == list(range(10))
    assert sorted(ran) == list(range(10))


async def test_a_disk_that_stays_full_does_not_keep_a_worker_from_stopping(
    app, house, full_disk, monkeypatch, caplog
):
    monkeypatch.setattr(run, "LAST", 0.1)

    @app.task
    async def work() -> int:
        return current_job().interrupted

    handle = await work.enqueue()
    async with app.worker(poll=0.05, grace=0.1):
        await until(lambda: tries(caplog))
    assert "the ends of 1 runs could not be written" in caplog.text
    house.do(ROOM_AGAIN)
    async with app.worker(poll=0.05):
        assert await handle.result(timeout=10) == 0
