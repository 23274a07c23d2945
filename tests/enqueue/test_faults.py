"""The database answers late, never, or with a refusal: a job is stored once or the caller knows."""

import asyncio
import time
from datetime import timedelta

import psycopg
import pytest

from leasehold import App
from leasehold.errors import SchemaMissing, StorageFull, Unreachable
from leasehold.store.refusal import explained


@pytest.fixture
async def app(wire):
    async with App(wire.dsn) as app:
        yield app


@pytest.fixture
def hello(app):
    @app.task
    async def hello(n: int) -> int:
        return n

    return hello


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_an_enqueue_whose_answer_was_lost_is_stored_once(hello, wire, house, call):
    wire.lose("leasehold.enqueue")
    handle = await hello.enqueue(1) if call == "await" else hello.enqueue_sync(1)
    assert wire.lost == 1
    assert house.ready() == [handle.id]


@pytest.mark.parametrize("hours", [5, 50, -5])
async def test_a_database_whose_clock_has_jumped_takes_jobs_at_once(hello, house, hours):
    before = [await hello.enqueue(1), hello.enqueue_sync(1)]
    house.clock.advance(timedelta(hours=hours))
    after = [await hello.enqueue(2), *await hello.enqueue_many([{"n": 3}, {"n": 4}])]
    house.clock.advance(timedelta(hours=hours))
    after += [hello.enqueue_sync(2), *hello.enqueue_many_sync([{"n": 3}, {"n": 4}])]
    assert set(house.ready()) == {handle.id for handle in before + after}


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_a_keyed_enqueue_whose_answer_was_lost_is_no_duplicate_of_itself(
    hello, wire, house, call
):
    wire.lose("leasehold.enqueue")
    task = hello.using(key="k", on_conflict="raise")
    handle = await task.enqueue(1) if call == "await" else task.enqueue_sync(1)
    assert not handle.duplicate
    assert house.ready() == [handle.id]


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_a_wake_up_whose_answer_was_lost_fails_no_enqueue(hello, wire, house, call):
    wire.lose("leasehold.wake")
    handle = await hello.enqueue(1) if call == "await" else hello.enqueue_sync(1)
    assert wire.lost == 1
    assert house.ready() == [handle.id]


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_a_wake_up_that_is_refused_fails_no_enqueue(hello, house, call, caplog):
    house.do("drop function leasehold.wake(text[], int)")
    handle = await hello.enqueue(1) if call == "await" else hello.enqueue_sync(1)
    assert house.ready() == [handle.id]
    assert "enqueue went well, wake behind it did not" in caplog.text


async def test_answers_lost_twice_are_an_error_and_still_no_double(hello, wire, house):
    wire.lose("leasehold.enqueue", times=2)
    calls = [hello.enqueue(n) for n in range(10)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(answer) for answer in answers} == {Unreachable}
    assert house.rows("select count(*), count(distinct payload) from leasehold.job") == [(10, 10)]


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_many_jobs_whose_commit_was_not_answered_are_told_as_what_they_are(
    hello, wire, house, call
):
    """All are there or none is, and the caller is told or helped; never a part."""
    wire.lose("COMMIT")
    rows = [{"n": n} for n in range(100)]
    with pytest.raises(Unreachable):
        await hello.enqueue_many(rows) if call == "await" else hello.enqueue_many_sync(rows)
    assert house.count("job") in (0, 100)


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_a_connection_that_broke_meanwhile_is_opened_again(hello, wire, house, call):
    for n in range(2):
        await hello.enqueue(n) if call == "await" else hello.enqueue_sync(n)
        house.do(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where application_name = 'leasehold' and pid <> pg_backend_pid() "
            "and datname = current_database() and query not like '%%test_clock%%'"
        ) if n == 0 else None
    assert house.count("ready") == 2


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_a_server_that_falls_silent_is_left_and_asked_again(
    hello, wire, house, call, monkeypatch
):
    for module in ("store.lane", "enqueue.post"):
        monkeypatch.setattr(f"leasehold.{module}.ANSWER", 0.2)
    wire.lose("leasehold.enqueue", mute=True)
    handle = await hello.enqueue(1) if call == "await" else hello.enqueue_sync(1)
    assert wire.lost == 1
    assert house.ready() == [handle.id]


async def test_a_server_that_stays_silent_is_an_error_in_time(hello, wire, monkeypatch):
    monkeypatch.setattr("leasehold.store.lane.ANSWER", 0.2)
    wire.lose("leasehold.enqueue", times=2, mute=True)
    with pytest.raises(Unreachable, match=r"did not answer enqueue within 0.2 s"):
        await hello.enqueue(1)


@pytest.mark.parametrize("statement", ["clock_now", "BEGIN", "copy", "COMMIT"])
@pytest.mark.parametrize("call", ["await", "sync"])
async def test_many_jobs_for_a_server_that_falls_silent_end_in_time(
    hello, wire, house, call, statement, monkeypatch
):
    for module in ("store.lane", "enqueue.post"):
        monkeypatch.setattr(f"leasehold.{module}.ANSWER", 0.2)
    wire.lose(statement if call == "await" else statement.replace("BEGIN", "begin"), 2, mute=True)
    rows = [{"n": n} for n in range(100)]
    async with asyncio.timeout(20):
        with pytest.raises(Unreachable):
            await (
                hello.enqueue_many(rows)
                if call == "await"
                else asyncio.to_thread(hello.enqueue_many_sync, rows)
            )
    assert house.count("job") in (0, 100)


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_many_jobs_may_take_longer_than_a_server_may_be_silent(
    hello, house, call, monkeypatch
):
    """The caller's own rows may come slowly: nobody waits for the server meanwhile."""
    monkeypatch.setattr("leasehold.store.watchdog.LOOK", 0.02)
    for module in ("store.lane", "enqueue.post"):
        monkeypatch.setattr(f"leasehold.{module}.ANSWER", 0.3)
    rows = slow_rows(12_000)
    stored = await hello.enqueue_many(rows) if call == "await" else hello.enqueue_many_sync(rows)
    assert len(stored) == house.count("job") == 12_000
    house.do("truncate leasehold.job, leasehold.ready")


def slow_rows(count):
    for n in range(count):
        if n % 1_000 == 999:
            time.sleep(0.08)
        yield {"n": n}


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_a_pooler_that_lets_in_and_then_is_silent_is_an_error_in_time(
    hello, wire, call, monkeypatch
):
    monkeypatch.setattr("leasehold.store.connect.SILENT", 0.2)
    wire.lose("default_transaction_isolation", times=9, mute=True)
    with pytest.raises(Unreachable, match="does not answer"):
        await hello.enqueue(1) if call == "await" else hello.enqueue_sync(1)


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_a_database_nobody_reaches_is_said_in_plain_words(wire, call):
    wire.close()
    app = App(wire.dsn)
    task = app.task(plain)
    with pytest.raises(Unreachable, match=r"(?s)does not answer: .*check DATABASE_URL"):
        await task.enqueue(1) if call == "await" else task.enqueue_sync(1)
    await app.close()


@pytest.mark.parametrize("call", ["await", "sync", "many", "conn"])
async def test_a_database_without_the_schema_says_what_to_run(leasehold_databases, call):
    dsn = leasehold_databases.make()
    async with await psycopg.AsyncConnection.connect(dsn) as conn:
        await conn.execute("drop schema leasehold cascade")
        await conn.commit()
        app = App(dsn)
        task = app.task(plain)
        calls = {
            "await": lambda: task.enqueue(1),
            "sync": lambda: asyncio.to_thread(task.enqueue_sync, 1),
            "many": lambda: task.enqueue_many([{"n": 1}]),
            "conn": lambda: task.using(conn=conn).enqueue(1),
        }
        with pytest.raises(SchemaMissing, match="leasehold migrate"):
            await calls[call]()
        await app.close()
    leasehold_databases.drop(dsn)


def test_a_full_disk_is_told_as_what_it_is():
    told = explained("53100", "could not extend file: No space left on device")
    assert isinstance(told, StorageFull)
    assert "nothing was stored" in str(told)
    assert "free space" in str(told)


def plain(n: int) -> int:
    return n
