"""Many jobs in one call, and many callers at once: few round trips, and all or nothing."""

import asyncio

import pytest

from leasehold import App
from leasehold.enqueue.bulk import BadRows
from leasehold.errors import LeaseholdError
from leasehold.observe import event


@pytest.fixture
def hello(app):
    @app.task
    async def hello(n: int) -> int:
        return n

    return hello


async def test_a_hundred_thousand_jobs_take_one_transaction_and_few_statements(hello, house):
    handles = await hello.enqueue_many({"n": n} for n in range(100_000))
    assert len({handle.id for handle in handles}) == 100_000
    sql = (
        "select count(*), count(distinct xmin::text), count(distinct cmin::text) from leasehold.job"
    )
    count, transactions, statements = house.rows(sql)[0]
    assert (count, transactions) == (100_000, 1)
    assert statements <= 20
    house.do("truncate leasehold.job, leasehold.ready")


async def test_handles_come_in_the_order_of_the_arguments(hello, house):
    handles = await hello.enqueue_many({"n": n} for n in range(1_000))
    stored = dict(house.rows("select id, (payload ->> 'n')::int from leasehold.job"))
    assert [stored[handle.id] for handle in handles] == list(range(1_000))
    assert house.ready() == [handle.id for handle in handles]


async def test_progress_is_told(hello, house):
    told = []
    await hello.enqueue_many(({"n": n} for n in range(25_000)), progress=told.append)
    assert told[-1] == 25_000
    assert told == sorted(told)
    house.do("truncate leasehold.job, leasehold.ready")


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_bad_rows_are_named_and_nothing_is_enqueued(hello, house, call):
    rows = [{"n": "x" if n % 1_000 == 999 else n} for n in range(100_000)]
    with pytest.raises(BadRows) as caught:
        await hello.enqueue_many(rows) if call == "await" else hello.enqueue_many_sync(rows)
    lines = str(caught.value).splitlines()
    assert lines[0] == "100 of 100000 jobs are refused, nothing was enqueued:"
    assert lines[1] == "  [999] hello.n takes int, got str"
    assert len(lines) == 1 + 20 + 1
    assert lines[-1] == "  … and 80 more"
    assert house.count("job") == 0


@pytest.mark.parametrize("call", ["await", "sync"])
async def test_what_the_database_refuses_late_undoes_all(hello, house, call):
    house.do(
        "create function picky() returns trigger language plpgsql as $$ begin "
        "if new.payload ->> 'n' = '24999' then raise exception using errcode = '22023', "
        "message = 'not this one'; end if; return new; end $$"
    )
    house.do(
        "create trigger picky before insert on leasehold.job for each row execute function picky()"
    )
    rows = [{"n": n} for n in range(25_000)]
    with pytest.raises(LeaseholdError, match="nothing was enqueued: not this one"):
        await hello.enqueue_many(rows) if call == "await" else hello.enqueue_many_sync(rows)
    assert house.count("job") == 0


async def test_no_rows_are_no_work(hello, house):
    assert await hello.enqueue_many([]) == []
    assert hello.enqueue_many_sync([]) == []


@pytest.mark.parametrize("opened", [True, False])
async def test_callers_at_once_share_commits(leasehold_dsn, house, opened):
    app = App(leasehold_dsn)
    if opened:
        await app.open()

    @app.task
    async def hello(n: int) -> int:
        return n

    sent = []
    stop = event.listen(lambda happened: happened.verb == "enqueue" and sent.append(happened))
    handles = await asyncio.gather(*(hello.enqueue(n) for n in range(64)))
    stop()
    await app.close()
    assert len({handle.id for handle in handles}) == 64
    assert house.count("ready") == 64
    assert len(sent) <= 4
    assert house.value("select count(distinct xmin::text) from leasehold.job") <= 4


async def test_one_callers_bad_row_is_not_its_neighbours_fault(app, hello, house):
    bad = {"task": "hello", "payload": {}, "priority": 99_999}
    answers = await asyncio.gather(
        *(hello.enqueue(n) for n in range(10)),
        app.enqueue(bad, None),
        *(hello.enqueue(n) for n in range(10)),
        return_exceptions=True,
    )
    assert [n for n, answer in enumerate(answers) if isinstance(answer, Exception)] == [10]
    assert house.count("ready") == 20


async def test_a_caller_who_gives_up_does_not_stop_the_others(hello, house):
    calls = [asyncio.create_task(hello.enqueue(n)) for n in range(20)]
    await asyncio.sleep(0)
    calls[3].cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(answer, BaseException) for answer in answers) == 19
    assert 19 <= house.count("ready") <= 20


def test_an_app_may_be_used_from_many_threads(leasehold_dsn, house):
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    with App(leasehold_dsn) as app, ThreadPoolExecutor(8) as threads:
        task = app.task(plain)
        list(threads.map(task.enqueue_sync, range(40)))
    assert house.count("ready") == 40


async def test_an_app_goes_on_in_another_event_loop(leasehold_dsn, house):
    app = App(leasehold_dsn)
    task = app.task(plain)

    def elsewhere() -> None:
        async def both() -> None:
            await task.enqueue(1)
            await app.close()

        asyncio.run(both())

    await asyncio.to_thread(elsewhere)
    await asyncio.to_thread(elsewhere)
    await task.enqueue(2)
    await app.close()
    assert house.count("ready") == 3


def plain(n: int) -> int:
    return n
