"""Bad inputs of RELIABILITY 3.7 through `task.enqueue`: refused at the call, nothing is written."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from leasehold import App, Retry
from leasehold.errors import LeaseholdError, OptionError, PayloadError

deep = []
for _ in range(101):
    deep = [deep]


class Opaque:
    pass


@dataclass
class Meeting:
    at: datetime


@pytest.fixture
def take(app):
    @app.task
    async def take(value: object = None, name: str = "", count: int = 0) -> None: ...

    return take


ARGUMENTS = {
    "1 NUL": ({"name": "fourteen chars\0"}, r"take\.name contains NUL at 14; use bytes or strip"),
    "1 NUL within": ({"value": {"a": ["\0"]}}, r"take\.value\.a\[0\] contains NUL at 0"),
    "2 surrogate": ({"name": "\ud800"}, r"take\.name contains the lone surrogate U\+D800 at 0"),
    "3 NaN": ({"value": [float("nan")]}, r"take\.value\[0\] is NaN or infinite"),
    "3 infinity": ({"value": float("inf")}, r"take\.value is NaN or infinite"),
    "4 depth": ({"value": deep}, r"take\.value.* is nested deeper than 100"),
    "5 size": ({"name": "x" * 1_100_000}, r"payload of 1,100,0.. bytes, the limit is 1,048,576"),
    "7 wrong type": ({"count": "7"}, r"take\.count takes int, got str"),
    "7 extra": ({"cuont": 7}, r"take\.cuont is not an argument, did you mean 'count'\?"),
    "8 no codec": ({"value": Opaque()}, r"take\.value is a Opaque where only plain JSON"),
    "9 int": ({"value": 2**63}, r"take\.value is an int beyond 64 bits"),
}


@pytest.mark.parametrize("what", ARGUMENTS)
@pytest.mark.parametrize("call", ["await", "sync"])
async def test_an_argument_is_refused_at_its_place(take, house, what, call):
    arguments, said = ARGUMENTS[what]
    with pytest.raises(PayloadError, match=said):
        await take.enqueue(**arguments) if call == "await" else take.enqueue_sync(**arguments)
    assert house.count("job") == 0


async def test_a_naive_datetime_is_refused(app, take, house):
    @app.task
    async def meet(meeting: Meeting) -> None: ...

    naive = datetime(2030, 1, 1)  # noqa: DTZ001 - the bad input
    with pytest.raises(
        PayloadError, match=r"meet\.meeting\.at has no time zone; use datetime\.now"
    ):
        await meet.enqueue(Meeting(naive))
    with pytest.raises(OptionError, match="run_at has no time zone"):
        take.using(run_at=naive)
    assert house.count("job") == 0


async def test_a_missing_and_a_surplus_argument_are_named(app, house):
    @app.task
    async def need(a: int, b: str) -> None: ...

    with pytest.raises(PayloadError, match=r"need\.b is missing: it takes str"):
        await need.enqueue(1)
    with pytest.raises(PayloadError, match="takes at most 2 arguments by position, got 3"):
        await need.enqueue(1, "x", 2)
    with pytest.raises(PayloadError, match=r"need\.a is given twice"):
        await need.enqueue(1, a=1)
    assert house.count("job") == 0


async def test_large_numbers_make_the_round_trip_where_they_are_annotated(app, house):
    @app.task
    async def big(n: int, d: Decimal) -> list[str]:
        return [str(n), str(d)]

    async with app.worker(poll=0.05):
        handle = await big.enqueue(2**100, Decimal("1.5E+500"))
        assert await handle.result(timeout=10) == [str(2**100), "1.5E+500"]


OPTIONS = {
    "10 empty queue": ({"queue": ""}, "queue has 0 bytes: write 1 to 63"),
    "10 long tenant": ({"tenant": "x" * 64}, "tenant has 64 bytes: write 1 to 63"),
    "10 control": ({"queue": "a\nb"}, r"queue has U\+000A at 1: control characters"),
    "15 infinite delay": ({"delay": float("inf")}, "delay is outside its range"),
    "15 minus infinity": ({"delay": float("-inf")}, "delay is outside its range"),
    "15 far future": ({"run_at": datetime.max.replace(tzinfo=UTC)}, "run_at is out of range"),
    "16 priority": ({"priority": 999_999}, "priority is outside its range: .*-32768 to 32767"),
    "17 no attempts": ({"max_attempts": 0}, "max_attempts is outside its range"),
    "17 attempts": ({"max_attempts": 10**9}, "max_attempts is outside its range"),
    "unknown": ({"prioritty": 5}, "prioritty is not an option, did you mean 'priority'"),
    "both": ({"delay": 5, "run_at": datetime(2030, 1, 1, tzinfo=UTC)}, "delay and run_at"),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_an_option_is_refused_by_name(take, what):
    options, said = OPTIONS[what]
    with pytest.raises(OptionError, match=said):
        take.using(**options)


def test_a_backoff_that_explodes_is_capped(take):
    rule = Retry(5, backoff=lambda attempt: 2.0**1_000)
    assert rule.delay_before(5, 0.5) == 3_600


async def test_a_key_with_another_payload_returns_the_job_that_has_it(take, house):
    first = await take.using(key="k").enqueue(count=1)
    again = await take.using(key="k").enqueue(count=2)
    assert (again.id, again.duplicate) == (first.id, True)
    assert house.rows("select payload from leasehold.job where duplicate_of is null") == [
        ({"count": 1},)
    ]


async def test_an_id_from_another_time_is_refused_with_both_times(app, take, house):
    """Bad input 22, as a program that writes the row itself would do it."""
    row = {"task": "take", "id": "0199a2b4-0000-7000-8000-000000000000"}
    with pytest.raises(LeaseholdError, match=r"id whose time is .* the database says"):
        app.enqueue_sync(row, house.connection)
    assert house.count("job") == 0


async def test_what_is_no_database_is_said_at_once(house):
    with pytest.raises(LeaseholdError, match="mysql:// is not an address of Postgres"):
        await App("mysql://x").open()
