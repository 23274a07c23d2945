"""A function runs elsewhere with the arguments it was given; what it returns comes back."""

import asyncio
import contextvars
import functools
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import pytest

from leasehold import Retry
from leasehold.errors import JobFailed
from runner.waiting import until

ONCE = Retry(1)


@dataclass
class Order:
    id: UUID
    at: datetime
    lines: list[tuple[str, int]]


ORDER = Order(UUID(int=7), datetime(2030, 1, 1, tzinfo=UTC), [("tea", 2)])


async def test_arguments_and_result_are_decoded_by_annotation(app, house):
    @app.task
    async def double(order: Order) -> Order:
        assert type(order.at) is datetime
        return Order(order.id, order.at, [(what, 2 * n) for what, n in order.lines])

    async with app.worker(poll=0.05):
        handle = await double.enqueue(ORDER)
        assert await handle.result(timeout=10) == Order(ORDER.id, ORDER.at, [("tea", 4)])


async def test_a_sync_function_runs_in_a_thread(app, house):
    @app.task
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    async with app.worker(poll=0.05):
        assert await (await where.enqueue()).result(timeout=10) is False


async def test_a_process_task_runs_in_another_process(errands, house):
    async with errands.app.worker(poll=0.05):
        handle = await errands.mirrored.enqueue(errands.Point(1, 2))
        assert await handle.result(timeout=20) == errands.Point(2, 1)
        assert await (await errands.asynchronous.enqueue(1)).result(timeout=20) == 2


async def test_arguments_left_out_take_the_default_of_the_code_that_runs(app, house):
    @app.task
    async def add(a: int, b: int = 5, *, c: int = 1) -> int:
        return a + b + c

    async with app.worker(poll=0.05):
        assert await (await add.enqueue(1)).result(timeout=10) == 7
        assert await (await add.enqueue(1, 2, c=3)).result(timeout=10) == 6


async def test_a_task_that_returns_nothing_succeeds_with_none(app, house):
    @app.task
    async def quiet() -> None:
        pass

    async with app.worker(poll=0.05):
        handle = await quiet.enqueue()
        assert await handle.result(timeout=10) is None
        assert (await handle.status()).state == "succeeded"


@pytest.mark.parametrize("size", [900, 1_100, 500_000])
async def test_a_payload_of_any_size_arrives_whole(app, house, size):
    @app.task
    async def length(text: str) -> str:
        return text

    text = "äö7" * (size // 3)
    async with app.worker(poll=0.05):
        assert await (await length.enqueue(text)).result(timeout=10) == text


async def test_no_more_jobs_than_the_concurrency_run_side_by_side(app, house):
    most = now = 0
    gate = asyncio.Event()

    @app.task
    async def count() -> None:
        nonlocal most, now
        now += 1
        most = max(most, now)
        if now == 7:
            gate.set()
        await gate.wait()
        await asyncio.sleep(0)
        now -= 1

    handles = await count.enqueue_many([{}] * 300)
    async with app.worker(poll=0.05, concurrency=7):
        await asyncio.gather(*(handle.result(timeout=20) for handle in handles))
    assert most == 7


async def test_thousands_of_jobs_each_run_once(app, house):
    ran = []

    @app.task
    async def note(n: int) -> None:
        ran.append(n)
        if n % 3 == 0:
            await asyncio.sleep(0)

    handles = await note.enqueue_many({"n": n} for n in range(5_000))
    async with app.worker(poll=0.05):
        await handles[-1].result(timeout=30)
        await asyncio.gather(*(handle.result(timeout=30) for handle in handles[-50:]))
    while house.count("ready"):
        async with app.worker(poll=0.05):
            await asyncio.sleep(0)
    assert sorted(ran) == list(range(5_000))
    assert house.count("attempt") == 5_000


async def test_context_variables_do_not_leak_into_the_next_job(app, house):
    who = contextvars.ContextVar("who", default="nobody")

    @app.task
    async def leak() -> str:
        before = who.get()
        who.set("me")
        return before

    async with app.worker(poll=0.05, concurrency=1):
        handles = await leak.enqueue_many([{}] * 5)
        assert [await handle.result(timeout=10) for handle in handles] == ["nobody"] * 5


async def test_timeouts_and_task_groups_work_inside_a_job(app, house):
    @app.task(retry=ONCE)
    async def inner() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(asyncio.sleep(0, n)) for n in range(3)]
            return f"timed out, then {[task.result() for task in tasks]}"
        return "never"

    @app.task(retry=ONCE)
    async def group_fails() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.Event().wait())
            group.create_task(boom())

    async with app.worker(poll=0.05, concurrency=1):
        assert await (await inner.enqueue()).result(timeout=10) == "timed out, then [0, 1, 2]"
        with pytest.raises(JobFailed, match="ExceptionGroup"):
            await (await group_fails.enqueue()).result(timeout=10)
        assert await (await inner.enqueue()).result(timeout=10)


async def boom():
    raise ValueError("boom")


class Unusual(BaseException):
    pass


def leave_by_exit():
    sys.exit(3)


def leave_by_base_exception():
    raise Unusual("odd")


def leave_by_interrupt():
    raise KeyboardInterrupt


def leave_by_generator_exit():
    raise GeneratorExit


def leave_by_stop_iteration():
    next(iter([]))


class Answer(Exception):
    """Knows only what came with it, and not even `__notes__`."""

    def __init__(self, fields):
        self.fields = fields

    def __getattr__(self, name):
        return self.fields[name]


def leave_by_an_error_with_fields():
    raise Answer({"code": 5})


WAYS_OUT = [
    leave_by_exit,
    leave_by_base_exception,
    leave_by_interrupt,
    leave_by_generator_exit,
    leave_by_stop_iteration,
    leave_by_an_error_with_fields,
]


@pytest.mark.parametrize("how", WAYS_OUT)
@pytest.mark.parametrize("run", ["async", "thread"])
async def test_whatever_a_function_raises_ends_its_own_job_only(app, house, how, run):
    async def function() -> None:
        how()

    bad = app.task(name="bad", retry=ONCE)(function if run == "async" else how)

    @app.task
    async def good() -> int:
        return 1

    async with app.worker(poll=0.05, concurrency=1):
        failed = await bad.enqueue()
        assert await (await good.enqueue()).result(timeout=10) == 1
        with pytest.raises(JobFailed):
            await failed.result(timeout=10)


async def test_a_function_that_cancels_its_own_asyncio_task_fails_its_own_job_only(app, house):
    @app.task(retry=ONCE)
    async def bad() -> None:
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    @app.task
    async def good() -> int:
        return 1

    async with app.worker(poll=0.05, concurrency=1):
        failed = await bad.enqueue()
        assert await (await good.enqueue()).result(timeout=10) == 1
        with pytest.raises(JobFailed, match="CancelledError"):
            await failed.result(timeout=10)


@pytest.mark.parametrize("when", ["before the function returns", "after the slot fell idle"])
async def test_a_cancellation_that_comes_late_does_not_hit_the_next_job(app, house, when):
    cancelled = []

    @app.task
    async def late() -> None:
        cancel = asyncio.current_task().cancel
        if when == "before the function returns":
            cancelled.append(cancel())
        else:
            asyncio.get_running_loop().call_soon(lambda: cancelled.append(cancel()))

    @app.task(retry=ONCE)
    async def good() -> int:
        await asyncio.sleep(0)
        return 1

    async with app.worker(poll=0.05, concurrency=1):
        await late.enqueue()
        await until(lambda: cancelled)
        assert await (await good.enqueue()).result(timeout=10) == 1


def hidden(function):
    """A decorator that does not know of async functions."""

    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


async def test_an_async_function_behind_a_plain_decorator_runs(app, house):
    ran = []

    @app.task
    @hidden
    async def body() -> str:
        ran.append(1)
        return "its result"

    async with app.worker(poll=0.05):
        assert await (await body.enqueue()).result(timeout=10) == "its result"
    assert ran == [1]


async def test_a_generator_behind_a_plain_decorator_fails_and_says_why(app, house):
    @app.task(retry=ONCE)
    @hidden
    def pieces() -> list[int]:
        yield 1

    async with app.worker(poll=0.05):
        with pytest.raises(JobFailed, match="answers with a generator, whose body nobody runs"):
            await (await pieces.enqueue()).result(timeout=10)


async def test_a_task_nobody_here_knows_is_left_for_another_runner(app, house):
    @app.task
    async def known() -> int:
        return 1

    stranger = house.enqueue(task="stranger")
    async with app.worker(poll=0.05):
        assert await (await known.enqueue()).result(timeout=10) == 1
        assert house.state(stranger) == "ready"
    assert house.entry("ready", stranger)["claim_no"] == 0


async def test_a_blocked_loop_loses_no_ends(app, short_lease):
    """A function that holds the loop delays the others, and no end of theirs is forgotten."""

    @app.task
    async def hold(n: int) -> int:
        if n % 10 == 0:
            spin(0.05)
        return n

    async with app.worker(poll=0.05):
        handles = await hold.enqueue_many({"n": n} for n in range(60))
        results = [await handle.result(timeout=20) for handle in handles]
    assert results == list(range(60))
    assert short_lease.count("running") == 0


def spin(seconds):
    import time  # noqa: PLC0415

    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        pass
