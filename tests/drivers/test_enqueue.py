"""A job is part of the transaction it is enqueued in, whatever library the connection is of."""

import asyncpg
import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.ext import asyncio as saio

from drivers.ways import closed, engine_url
from leasehold.errors import ConnectionUnusable, EnqueueRefused, KeyTaken


async def test_a_job_comes_with_the_commit_and_not_before(way, task, house):
    handle = await way.enqueue(task, 7, tenant="acme", headers={"trace": "x"})
    assert house.count("job") == 0
    await way.commit()
    assert house.rows("select id, queue, tenant, payload, headers from leasehold.job") == [
        (handle.id, "mail", "acme", {"user": 7}, {"trace": "x"})
    ]
    assert house.state(handle.id) == "ready"


async def test_a_job_vanishes_with_the_rollback(way, task, house):
    await way.enqueue(task, 7)
    await way.rollback()
    assert house.count("job") == 0
    assert house.count("ready") == 0


async def test_a_taken_key_is_seen_and_the_transaction_goes_on(way, task, house):
    first = await way.enqueue(task, 7, key="k")
    again = await way.enqueue(task, 8, key="k")
    with pytest.raises(KeyTaken, match=str(first.id)):
        await way.enqueue(task, 9, key="k", on_conflict="raise")
    await way.commit()
    assert (again.id, again.duplicate, first.duplicate) == (first.id, True, False)
    assert house.ready("mail") == [first.id]


async def test_many_jobs_in_one_call_come_and_go_with_the_transaction(way, task, house):
    handles = await way.enqueue_many(task, ({"user": n} for n in range(2_500)))
    assert house.count("job") == 0
    await way.commit()
    assert sorted(handle.id for handle in handles) == sorted(house.ready("mail"))


async def test_many_jobs_vanish_with_the_rollback(way, task, house):
    await way.enqueue_many(task, ({"user": n} for n in range(1_500)))
    await way.rollback()
    assert house.count("job") == 0


async def test_a_closed_connection_is_refused_by_name(way, task, house):
    if not way.can_be_closed:
        pytest.skip("a session opens anew by itself")
    await way.enqueue(task, 1)
    await closed(way)
    with pytest.raises(ConnectionUnusable, match=r"nothing .*closed.*open one"):
        await way.enqueue(task, 7)
    assert house.count("job") == 0


async def test_a_read_only_transaction_is_refused_by_name(way, task, house):
    await way.do("set transaction read only")
    with pytest.raises(ConnectionUnusable, match=r"read-only, nothing was stored"):
        await way.enqueue(task, 7)
    await way.rollback()
    assert house.count("job") == 0


async def test_a_failed_transaction_is_refused_by_name(way, task, house):
    with pytest.raises(Exception, match="division by zero"):
        await way.do("select 1 / 0")
    with pytest.raises(ConnectionUnusable, match=r"failed already, .*roll it back"):
        await way.enqueue(task, 7)
    await way.rollback()
    assert house.count("job") == 0


async def test_what_the_database_refuses_says_so_and_nothing_is_enqueued(way, app, house):
    task = app.task(nothing)
    with pytest.raises(EnqueueRefused, match=r"nothing was enqueued: .*priority"):
        await send_past_the_door(way, task)
    await way.rollback()
    assert house.count("job") == 0


async def nothing() -> None:
    pass


async def send_past_the_door(way, task):
    row = {"task": task.name, "payload": {}, "priority": 99_999}
    if way.awaited:
        return await task.app.enqueue(row, way.conn)
    return task.app.enqueue_sync(row, way.conn)


async def test_a_sync_connection_may_be_handed_to_an_awaited_call(way, task, house):
    if way.awaited:
        pytest.skip("is async")
    await task.using(conn=way.conn).enqueue(7)
    await way.commit()
    assert house.count("ready") == 1


async def test_an_async_connection_in_a_sync_call_is_refused_by_name(way, task, house):
    if not way.awaited:
        pytest.skip("is sync")
    with pytest.raises(ConnectionUnusable, match=r"async .* does not await: use `await"):
        task.using(conn=way.conn).enqueue_sync(7)
    with pytest.raises(ConnectionUnusable, match=r"async .* does not await: use `await"):
        task.using(conn=way.conn).enqueue_many_sync([{"user": 7}])
    assert house.count("job") == 0


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
async def test_every_isolation_level_will_do(way, task, house, level):
    await way.do(f"set transaction isolation level {level}")
    await way.enqueue(task, 7, key="k")
    assert (await way.enqueue(task, 7, key="k")).duplicate
    await way.commit()
    assert house.count("ready") == 1


@pytest.mark.parametrize("made", ["object", "text", "cursor", "engine", "async engine", "pool"])
async def test_anything_else_is_refused_with_what_is_wanted(task, leasehold_dsn, house, made):
    psycopg_connection = psycopg.connect(leasehold_dsn)
    engine = sa.create_engine(engine_url(leasehold_dsn, "psycopg"))
    async_engine = saio.create_async_engine(engine_url(leasehold_dsn, "psycopg"))
    things = {
        "object": object(),
        "text": leasehold_dsn,
        "cursor": psycopg_connection.cursor(),
        "engine": engine,
        "async engine": async_engine,
        "pool": asyncpg.create_pool(leasehold_dsn),
    }
    wanted = "it takes a connection of psycopg or asyncpg.*: nothing was done"
    with pytest.raises(ConnectionUnusable, match=wanted):
        await task.using(conn=things[made]).enqueue(7)
    psycopg_connection.close()
    assert house.count("job") == 0
