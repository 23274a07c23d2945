"""What a type checker sees of an enqueue: parameters on the way in, the result on the way out."""

from datetime import datetime, timedelta
from typing import Any, assert_type
from uuid import UUID

from tasks import app, price, render, tidy, welcome

from leasehold import Handle, Status


async def a_handle_knows_the_result_of_its_task() -> None:
    handle = await price.enqueue(1, currency="USD")
    assert_type(handle, Handle[float])
    assert_type(await handle.result(timeout=10), float)
    assert_type(handle.result_sync(timeout=10, look=0.5), float)
    assert_type(await (await tidy.enqueue()).result(), None)
    assert_type(render.enqueue_sync(page="index"), Handle[bytes])
    text: str = await handle.result()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    await welcome.enqueue(1, text)


async def arguments_are_those_of_the_function() -> None:
    await welcome.enqueue("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await welcome.enqueue()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await welcome.enqueue(1, nickname="Ada")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await welcome.enqueue(1, "Ada", 2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await price.enqueue(1, "USD")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await tidy.enqueue(1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    render.enqueue_sync(b"index")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    render.enqueue_sync()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    render.enqueue_sync("index", depth=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def other_options_leave_the_task_what_it_is() -> None:
    soon = welcome.using(delay=timedelta(minutes=5), key="welcome-1", on_conflict="raise")
    assert_type(await soon.using(priority=10).enqueue(1, name="Ada"), Handle[str])
    assert_type(await soon(1), str)
    assert_type(render.using(tenant="acme")("index"), bytes)
    await soon.enqueue(name="Ada")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def many_at_once() -> None:
    rows = ({"user": n} for n in range(1000))
    assert_type(await welcome.enqueue_many(rows), list[Handle[str]])
    assert_type(render.enqueue_many_sync([{"page": "a"}], progress=print), list[Handle[bytes]])
    await welcome.enqueue_many([1, 2])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    await welcome.enqueue_many(user=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def a_handle_says_how_its_job_stands(handle: Handle[str]) -> None:
    assert_type(handle.id, UUID)
    assert_type(handle.duplicate, bool)
    assert_type(await handle.status(), Status)
    assert_type(handle.status_sync().state, str)
    assert_type((await handle.wait(timeout=1)).ended_at, datetime | None)
    assert_type(await handle.cancel("not wanted"), str)
    assert_type(handle.cancel_sync(), str)
    assert_type(app.job("0198c1d5-0000-7000-8000-000000000000"), Handle[Any])
    handle.status_sync().state = "ready"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    await handle.result("soon")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    app.job(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
