"""The server refuses, is cut off or is slow: a runner goes on, and each job runs once."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from enqueue.wire import Wire
from fleet.crew import until as until_in_a_blocked_loop
from leasehold import App
from leasehold.inside import Working
from leasehold.observe import event
from leasehold.runner import finisher
from runner.trouble import locked, refused, waits
from runner.waiting import until

CANCELED, FULL, READ_ONLY, SHUTDOWN = "57014", "53100", "25006", "57P01"
UNANSWERED = "claiming waits for the database"


@pytest.fixture
def echo(app):
    @app.task
    async def echo(text: str) -> str:
        return text

    return echo


class Holding:
    """A job that holds the only slot, in `trouble`, as soon as others are claimed behind it."""

    runner: Working
    trouble: Callable[[], AbstractContextManager[None]]

    def __init__(self) -> None:
        self.begun, self.go, self.stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work(self) -> None:
        await asyncio.sleep(0)
        if self.runner.runner.backlog and not self.begun.is_set():
            with self.trouble():
                self.begun.set()
                try:
                    await self.go.wait()
                finally:
                    self.stopped.set()


@pytest.fixture
async def holding(app):
    holding = Holding()
    await app.task(holding.work).enqueue_many([{}] * 3_000)
    return holding


@pytest.mark.parametrize(("verb", "state"), [("claim", CANCELED), ("sleep", FULL)])
async def test_a_statement_that_is_refused_ends_no_claiming(app, house, echo, caplog, verb, state):
    async with app.worker(poll=0.05):
        with refused(house, verb, state):
            await until(lambda: UNANSWERED in caplog.text, 5)
        assert await (await echo.enqueue("1")).result(timeout=5) == "1"


async def test_jobs_that_cannot_be_given_back_do_not_keep_a_runner_from_stopping(
    app, house, holding, caplog
):
    holding.trouble = lambda: refused(house, "release", CANCELED)
    async with app.worker(poll=0.05, concurrency=1) as holding.runner:
        await holding.begun.wait()
        holding.runner.stop()
        await until(lambda: "claimed jobs could not be given back" in caplog.text, 5)
        holding.go.set()
    assert house.count("ready") + house.count("attempt") == 3_000


async def test_a_large_payload_that_could_not_be_read_is_claimed_again(app, house, echo, caplog):
    """No runner names it any more, so a beat gives it back."""
    handle = await echo.enqueue("x" * 5_000)
    async with app.worker(poll=0.05) as runner:
        with refused(house, "bodies", SHUTDOWN):
            await until(lambda: UNANSWERED in caplog.text, 5)
        house.pass_time(11)
        runner.runner.beat_now()
        assert await handle.result(timeout=5) == "x" * 5_000
    assert house.attempt(handle.id)["claim_no"] == 2


async def test_a_server_that_is_read_only_for_a_while_loses_no_end(app, house, monkeypatch, caplog):
    monkeypatch.setattr(finisher, "PAUSES", (0.01, 0.01))
    ran = []

    @app.task
    async def work() -> int:
        ran.append(1)
        return len(ran)

    async with app.worker(poll=0.05):
        with refused(house, "finish", READ_ONLY):
            handle = await work.enqueue()
            await until(lambda: caplog.text.count("ends of runs cannot be written yet") > 5, 5)
        assert await handle.result(timeout=5) == 1
    assert house.attempt(handle.id)["claim_no"] == len(ran) == 1


async def test_what_is_claimed_while_the_loop_is_blocked_is_not_given_back(
    app, house, echo, monkeypatch
):
    """The claim's answer is not read yet: the runner cannot say that it holds this job."""
    monkeypatch.setattr("leasehold.inside.FRESH", 0.3)
    beats = []
    stop = event.listen(lambda happened: happened.verb == "beat" and beats.append(happened))

    @app.task
    async def blocks() -> str:
        with locked(house, "ready") as other:
            await until(lambda: waits(house, "claim"))
            job = house.enqueue(other, task="echo", payload={"text": "1"})
        until_in_a_blocked_loop(
            lambda: house.count("running") == 2 and runner.runner.board.age() > 0.5
        )
        house.pass_time(11)
        beats.clear()
        runner.runner.beat_now()
        until_in_a_blocked_loop(lambda: beats)
        return str(job)

    async with app.worker(poll=0.05) as runner:
        job = app.job(await (await blocks.enqueue()).result(timeout=10))
        assert await job.result(timeout=5) == "1"
    stop()
    assert house.attempt(job.id)["claim_no"] == 1


async def test_a_locked_table_delays_nobody_who_is_told_to_stop(app, house, holding):
    holding.trouble = lambda: locked(house, "running")
    async with app.worker(poll=0.05, concurrency=1, grace=0.1) as holding.runner:
        await holding.begun.wait()
        holding.runner.stop()
        await asyncio.wait_for(holding.stopped.wait(), 5)


async def test_a_locked_table_does_not_make_a_loop_look_blocked(app, house, holding):
    holding.trouble = lambda: locked(house, "running")
    async with app.worker(poll=0.05, concurrency=1, hold_back=0.1) as runner:
        holding.runner = runner
        await holding.begun.wait()
        soon = time.monotonic() + 0.6  # by then a tick has given back what was held too long
        await until(lambda: time.monotonic() - runner.runner.board.age() > soon, 5)
        holding.go.set()


@pytest.mark.parametrize("mute", [False, True])
async def test_a_listen_that_is_not_answered_is_sent_again(leasehold_dsn, house, monkeypatch, mute):
    monkeypatch.setattr("leasehold.store.connect.SILENT", 0.5)
    wire = Wire(leasehold_dsn)
    async with App(wire.dsn) as app:
        echo = app.task(plain)
        wire.lose('listen "leasehold_runner_', mute=mute)
        async with app.worker(poll=0.05):
            assert await (await echo.enqueue(1)).result(timeout=5) == 1
    wire.close()
    assert wire.lost == 1


async def plain(n: int) -> int:
    return n
