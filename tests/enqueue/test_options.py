"""What `using()` says lands in the job's columns; keys, delays and names do what they say."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from leasehold import App
from leasehold.errors import KeyTaken, NotFound, OptionError

LATER = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.fixture
def hello(app):
    @app.task
    async def hello(n: int = 0) -> int:
        return n

    return hello


@pytest.mark.parametrize(
    ("option", "value", "column", "stored"),
    [
        ("queue", "mail", "queue", "mail"),
        ("queue", 'it\'s "quoted"; drop table job', "queue", 'it\'s "quoted"; drop table job'),
        ("priority", -5, "priority", -5),
        ("priority", 0, "priority", 0),
        ("run_at", LATER, "run_at", LATER),
        ("delay", 60, "delay", timedelta(seconds=60)),
        ("delay", timedelta(minutes=2), "delay", timedelta(minutes=2)),
        ("deadline", LATER, "deadline", LATER),
        ("timeout", 2.5, "timeout", 2.5),
        ("max_attempts", 3, "max_attempts", 3),
        ("key", "k", "key", "k"),
        ("tenant", "acme", "tenant", "acme"),
        ("group", "g", '"group"', "g"),
        ("tags", ["a", "b"], "tags", ["a", "b"]),
        ("headers", {"trace": "x"}, "headers", {"trace": "x"}),
        ("hold", "wait for me", "hold", "wait for me"),
        ("id", "order-7", "name", "order-7"),
        ("id", UUID(int=7), "name", str(UUID(int=7))),
    ],
)
@pytest.mark.parametrize("call", ["one", "one, sync", "many", "many, sync"])
async def test_each_option_lands_in_its_column(hello, house, option, value, column, stored, call):
    task = hello.using(**{option: value})
    match call:
        case "one":
            handle = await task.enqueue(1)
        case "one, sync":
            handle = task.enqueue_sync(1)
        case "many":
            [handle] = await task.enqueue_many([{"n": 1}])
        case _:
            [handle] = task.enqueue_many_sync([{"n": 1}])
    found = house.rows(f"select id, payload, {column} from leasehold.job")
    assert found == [(handle.id, {"n": 1}, stored)]


async def test_what_is_not_said_is_the_tasks_and_then_the_apps(leasehold_dsn, house):
    async with App(leasehold_dsn, queue="apps") as app:

        @app.task(priority=7, tenant="tasks")
        async def hello() -> None: ...

        await hello.using(tenant="calls").enqueue()
    assert house.rows("select queue, priority, tenant from leasehold.job") == [("apps", 7, "calls")]


async def test_a_deadline_in_seconds_counts_from_the_databases_time(hello, house):
    for task in (hello.using(deadline=60), hello.using(deadline_in=60)):
        await task.enqueue()
        await task.enqueue_many([{}])
    apart = house.rows(
        "select extract(epoch from deadline - enqueued_at)::float from leasehold.job"
    )
    assert [row[0] for row in apart] == pytest.approx([60] * 4, abs=1)


async def test_ones_own_id_is_found_again(hello, house):
    mine = uuid4()
    handle = await hello.using(id=mine).enqueue(7)
    found = house.value("select id from leasehold.job where name = %s", str(mine))
    assert found == handle.id != mine
    assert (await hello.app.find(str(mine))).id == handle.id
    assert hello.app.find_sync(str(handle.id)).id == handle.id


async def test_a_job_is_found_by_its_key(hello):
    handle = await hello.using(key="k").enqueue(7)
    assert (await hello.app.find("k")).id == handle.id


async def test_a_job_that_is_not_here_is_said_to_be_so(hello):
    with pytest.raises(NotFound):
        await hello.app.find("nobody")
    with pytest.raises(OptionError, match="takes a job's id, a UUID"):
        hello.app.job("nobody")


async def test_a_job_due_later_waits_and_one_past_due_does_not(hello, house):
    later = await hello.using(delay=60).enqueue()
    with pytest.warns(UserWarning, match="delay is below 0"):
        past = hello.using(delay=-5)
    at_once = [
        await past.enqueue(),
        await hello.using(run_at=datetime(2000, 1, 1, tzinfo=UTC)).enqueue(),
    ]
    held = await hello.using(hold="until Monday").enqueue()
    assert house.state(later.id) == "scheduled"
    assert [house.state(handle.id) for handle in at_once] == ["ready", "ready"]
    assert house.state(held.id) == "waiting"


def test_a_conflict_that_is_misspelled_is_refused(hello):
    with pytest.raises(OptionError, match="did you mean 'raise'"):
        hello.using(key="k", on_conflict="rise")


async def test_a_taken_key_gives_the_handle_of_the_live_job(hello, house):
    first = await hello.using(key="k").enqueue(1)
    again = await hello.using(key="k").enqueue(2)
    sync = hello.using(key="k").enqueue_sync(3)
    [bulk] = await hello.using(key="k").enqueue_many([{"n": 4}])
    assert {again.id, sync.id, bulk.id} == {first.id}
    assert again.duplicate
    assert sync.duplicate
    assert bulk.duplicate
    assert not first.duplicate
    assert (await again.status()).state == "ready"
    assert house.ready() == [first.id]


async def test_a_taken_key_may_be_told_as_an_error(hello, house):
    first = await hello.using(key="k").enqueue(1)
    wanted = f"key 'k' belongs to the live job {first.id}: wait"
    with pytest.raises(KeyTaken, match=wanted):
        await hello.using(key="k", on_conflict="raise").enqueue(2)
    with pytest.raises(KeyTaken, match=wanted):
        hello.using(key="k", on_conflict="raise").enqueue_sync(2)


async def test_a_key_is_free_again_when_its_job_has_ended(hello, house):
    first = await hello.using(key="k").enqueue(1)
    assert await first.cancel() == "cancelled"
    again = await hello.using(key="k").enqueue(2)
    assert not again.duplicate
    assert again.id != first.id


async def test_keys_of_two_tenants_or_two_tasks_do_not_meet(app, hello, house):
    other = app.task(name="other")(hello.definition.function)
    handles = [
        await hello.using(key="k").enqueue(),
        await hello.using(key="k", tenant="acme").enqueue(),
        await other.using(key="k").enqueue(),
    ]
    assert len({handle.id for handle in handles}) == 3
