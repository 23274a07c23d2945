"""Effectively once: a job's own writes and the end of its run commit together, or neither does."""

import asyncio

import psycopg
import pytest

from drivers.ways import WAYS, Asyncpg, Django
from leasehold import Retry, current_job
from leasehold.errors import LeaseLost

TWICE = Retry(2, backoff="fixed", base=0)
HANDED = [way for way in WAYS if way is not Django]  # whose connections belong to a thread
WRITE = "insert into receipt select 1"


@pytest.fixture(params=HANDED, ids=lambda way: way.__name__)
async def way(request, leasehold_dsn, house):
    house.do("create table receipt (n int)")
    way = request.param(leasehold_dsn)
    await way.open()
    if isinstance(way, Asyncpg):
        await way.rollback()
    yield way
    await way.close()


async def test_the_write_and_the_end_commit_together(app, house, way):
    @app.task
    async def charge() -> str:
        async with current_job().finishing(way.conn, result="charged"):
            await way.do(WRITE)
            assert house.count("attempt") == 0
        return "what is returned after the end is not heard"

    async with app.worker(poll=0.05):
        handle = await charge.enqueue()
        assert await handle.result(timeout=10) == "charged"
    assert house.value("select count(*) from receipt") == 1
    assert house.history(handle.id) == ["succeeded"]
    assert house.count("running") == 0


async def test_an_error_inside_undoes_the_write_and_the_job_runs_again(app, house, way):
    @app.task(retry=TWICE)
    async def charge() -> str:
        async with current_job().finishing(way.conn, result="charged"):
            await way.do(WRITE)
            if current_job().attempt == 1:
                raise RuntimeError("before the end")
        return ""

    async with app.worker(poll=0.05):
        handle = await charge.enqueue()
        assert await handle.result(timeout=10) == "charged"
    assert house.value("select count(*) from receipt") == 1
    assert house.history(handle.id) == ["retried", "succeeded"]


async def test_a_run_that_lost_its_lease_writes_nothing(app, house, way):
    begun, go = asyncio.Event(), asyncio.Event()
    raised = []

    @app.task
    async def charge() -> str:
        if begun.is_set():
            return "by another"
        begun.set()
        await go.wait()
        try:
            async with current_job().finishing(way.conn):
                await way.do(WRITE)
        except LeaseLost as error:
            raised.append(error)
            raise
        return "by the first"

    async with app.worker(poll=0.05) as first:
        handle = await charge.enqueue()
        await begun.wait()
        house.do("select leasehold.reap(10, %s, '{}')", first.number)
        go.set()
        async with app.worker(poll=0.05):
            assert await handle.result(timeout=10) == "by another"
    assert len(raised) == 1
    assert house.value("select count(*) from receipt") == 0
    assert house.history(handle.id) == ["succeeded"]


async def test_a_failure_after_the_end_changes_nothing(app, house, way):
    @app.task(retry=TWICE)
    async def charge() -> None:
        async with current_job().finishing(way.conn):
            await way.do(WRITE)
        raise RuntimeError("after the end")

    async with app.worker(poll=0.05):
        handle = await charge.enqueue()
        assert await handle.result(timeout=10) is None
    assert house.value("select count(*) from receipt") == 1
    assert house.history(handle.id) == ["succeeded"]


async def test_a_job_in_a_thread_finishes_with_its_writes_too(app, house, leasehold_dsn):
    house.do("create table receipt (n int)")

    @app.task
    def charge() -> str:
        with psycopg.connect(leasehold_dsn) as conn:
            with current_job().finishing_sync(conn, result="charged"):
                conn.execute(WRITE)
            return "unheard"

    async with app.worker(poll=0.05):
        handle = await charge.enqueue()
        assert await handle.result(timeout=10) == "charged"
    assert house.value("select count(*) from receipt") == 1
    assert house.history(handle.id) == ["succeeded"]


async def test_a_job_in_a_process_finishes_with_its_writes_too(errands, house, leasehold_dsn):
    house.do("create table receipt (n int)")
    async with errands.app.worker(poll=0.05):
        handle = await errands.charges.enqueue(leasehold_dsn)
        assert await handle.result(timeout=20) == "charged"
    assert house.value("select count(*) from receipt") == 1
    assert house.history(handle.id) == ["succeeded"]
