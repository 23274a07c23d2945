"""One app, many threads with an event loop each: every loop has connections of its own."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from leasehold import App
from leasehold.errors import NotEnded, Unreachable
from leasehold.store.embedded import Server
from runner.waiting import until

OTHERS = (
    "select count(*) from pg_stat_activity where datname = current_database() "
    "and application_name = 'leasehold' and pid <> pg_backend_pid() "
    "and query not like '%%test_clock%%'"
)


@pytest.fixture
def hello(leasehold_dsn):
    app = App(leasehold_dsn)

    @app.task
    async def hello(n: int) -> int:
        return n

    yield hello
    app.close_sync()


def test_threads_with_a_loop_each_ask_side_by_side(hello, house):
    async def some() -> None:
        for n in range(20):
            handle = await hello.enqueue(n)
            assert (await handle.status()).state == "ready"
        await hello.app.close()

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda _: asyncio.run(asyncio.wait_for(some(), 20)), range(12)))
    assert house.count("ready") == 240


def test_a_loop_that_ended_takes_its_connections_along(hello, house):
    none = house.value(OTHERS)
    for n in range(10):
        asyncio.run(hello.enqueue(n))
    assert house.value(OTHERS) <= none + 2


async def test_closing_the_app_in_one_loop_breaks_nothing_in_another(hello, house):
    ready, go, none = threading.Event(), threading.Event(), house.value(OTHERS)

    async def lasting() -> None:
        handle = await hello.enqueue(1)
        ready.set()
        await asyncio.to_thread(go.wait, 10)
        with pytest.raises(NotEnded):
            await handle.result(timeout=0.01)
        await hello.app.close()

    other = asyncio.create_task(asyncio.to_thread(asyncio.run, lasting()))
    await asyncio.to_thread(ready.wait, 10)
    await hello.enqueue(0)
    await hello.app.close()
    await until(lambda: house.value(OTHERS) == none + 1)
    go.set()
    await other
    await until(lambda: house.value(OTHERS) == none)


async def test_whoever_waits_for_an_end_hears_that_the_app_was_closed(hello, house):
    handle = await hello.enqueue(1)
    waiting = asyncio.create_task(handle.result())
    await until(lambda: house.count("awaited"))
    await hello.app.close()
    async with asyncio.timeout(5):
        with pytest.raises(Unreachable, match="the app was closed while this waited"):
            await waiting


def test_an_embedded_server_stops_where_another_loop_had_listened(tmp_path):
    app = App(tmp_path / "home")
    hello = app.task(plain)

    async def listen() -> None:
        with pytest.raises(NotEnded):
            await (await hello.enqueue(1)).result(timeout=0.09)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(listen())
    server = Server(tmp_path / "home")
    assert server.running()
    loop.close()
    asyncio.run(app.close())
    assert not server.running()


def plain(n: int) -> int:
    return n
