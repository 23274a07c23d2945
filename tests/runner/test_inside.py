"""A worker inside somebody's process: it outlives lost leases and breakdowns, and never hangs."""

import asyncio
import time
from itertools import pairwise

import pytest

from enqueue.wire import Wire
from leasehold import App
from leasehold.errors import DatabaseError
from leasehold.runner.run import Runner
from leasehold.store import connect
from runner.waiting import until


@pytest.fixture
def echo(app):
    @app.task
    async def echo(n: int) -> int:
        return n

    return echo


@pytest.fixture
def brisk(monkeypatch):
    monkeypatch.setattr("leasehold.inside.PAUSE", 0.02)


async def test_a_runner_that_lost_its_lease_is_followed_by_another(app, echo, house, brisk, caplog):
    async with app.worker(poll=0.05) as working:
        first = working.number
        house.do("select leasehold.reap(10, %s, '{}')", first)
        await until(lambda: working.number != first)
        assert await (await echo.enqueue(1)).result(timeout=10) == 1
    assert "lost its lease: another one follows" in caplog.text
    assert house.count("worker") == 0


async def test_a_worker_that_all_had_forgotten_comes_back(app, echo, house, brisk):
    """As after a night of a laptop's sleep."""
    async with app.worker(poll=0.05) as working:
        first = working.number
        house.do("delete from leasehold.runner")
        house.do("delete from leasehold.worker")
        await until(lambda: working.number != first)
        assert await (await echo.enqueue(1)).result(timeout=10) == 1


async def test_a_runner_that_breaks_down_is_followed_by_another(
    app, echo, house, brisk, caplog, monkeypatch
):
    claim, broken = Runner._claim, []

    async def breaks(runner, *args):
        if len(broken) < 4:
            broken.append(time.monotonic())
            raise ZeroDivisionError
        return await claim(runner, *args)

    monkeypatch.setattr(Runner, "_claim", breaks)
    async with app.worker(poll=0.05):
        assert await (await echo.enqueue(1)).result(timeout=10) == 1
    assert broken[-1] - broken[0] > 0.02 + 0.04 + 0.08
    assert caplog.text.count("broke down: another one follows") == 4


async def test_a_worker_that_stops_does_not_wait_for_the_next_runner(app, house, monkeypatch):
    monkeypatch.setattr("leasehold.inside.PAUSE", 60)
    async with asyncio.timeout(10), app.worker(poll=0.05) as working:
        house.do("select leasehold.reap(10, %s, '{}')", working.number)
        await until(working.runner.stopping.is_set)


@pytest.fixture
def short_bounds(monkeypatch):
    monkeypatch.setattr("leasehold.store.connect.SILENT", 0.5)
    monkeypatch.setitem(connect._SETTINGS, "connect_timeout", "2")
    monkeypatch.setattr("leasehold.inside.BOUND", 1.0)
    monkeypatch.setattr("leasehold.inside.ANSWER", 0.5)


@pytest.mark.parametrize("statement", ["set default", "enrol", "hire"])
async def test_a_server_that_is_silent_when_a_worker_begins_is_an_error_in_time(
    wire, short_bounds, statement
):
    app = App(wire.dsn)
    wire.lose(statement, mute=True)
    async with asyncio.timeout(10):
        with pytest.raises(DatabaseError):
            async with app.worker():
                raise AssertionError("it began")
    await app.close()


@pytest.mark.parametrize("statement", ["leasehold.claim", "leasehold.leave", ""])
async def test_a_server_that_is_silent_when_a_worker_stops_keeps_nobody(
    wire, house, short_bounds, statement
):
    app = App(wire.dsn)
    app.task(name="t")(len)
    if statement == "leasehold.claim":  # prepared once, and then its name is not on the wire
        wire.lose(statement, mute=True)
    async with asyncio.timeout(40), app.worker(poll=0.05, grace=0.1):
        await until(lambda: wire.lost or house.count("sleeper"))
        wire.lose(statement, 1_000, mute=True)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    await app.close()


@pytest.fixture
def wire(leasehold_dsn):
    wire = Wire(leasehold_dsn)
    yield wire
    wire.close()


async def test_the_loop_turns_while_a_worker_comes_and_goes(wire, short_bounds):
    """The loop is somebody's: a web server's, for example."""
    app, turns = App(wire.dsn), []

    async def turn() -> None:
        while True:
            turns.append(time.monotonic())
            await asyncio.sleep(0.01)

    turning = asyncio.create_task(turn())
    wire.lose("leasehold.leave", mute=True)
    async with app.worker(poll=0.05):
        pass
    turning.cancel()
    await app.close()
    pauses = [after - before for before, after in pairwise(turns)]
    assert max(pauses) < 0.4
