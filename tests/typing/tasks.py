"""What a type checker sees of App.task: the function's own parameters and result, kept."""

from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, assert_type

from leasehold import App, Custom, Retry, Task

app = App("postgresql://localhost/shop", queue="mail", customs=[Custom(complex, str, complex)])


@app.task
async def price(order: int, *, currency: str = "EUR") -> float:
    return order * 1.5 if currency == "EUR" else 0.0


@app.task
def render(page: str) -> bytes:
    return page.encode()


@app.task()
def tidy() -> None: ...


@app.task(queue="mail", retry=Retry(3, backoff=[1, 2.5]), timeout=timedelta(minutes=1))
async def welcome(user: int, name: str = "you") -> str:
    return f"Welcome, {name} ({user})!"


@app.task(name="shop.square", run="process", exclusive=True)
def square(number: int) -> int:
    return number * number


async def calling_a_task_calls_its_function() -> None:
    work: Coroutine[Any, Any, float] = price(1)
    assert_type(await work, float)
    assert_type(await price(1, currency="USD"), float)
    assert_type(await welcome(1), str)
    assert_type(render("index"), bytes)
    assert_type(square(number=3), int)
    tidy()
    render(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await price()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await welcome(1, nickname="Ada")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    number: int = render("index")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    await square(number)  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]


def a_task_can_be_handed_on(mail: Task[[int, str], str], any_task: Task[..., object]) -> None:
    assert_type(mail.name, str)
    any_task.enqueue_sync(1, "two", three=3)
    mail.enqueue_sync(1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


a_task_can_be_handed_on(square, tidy)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


app.task(run="fiber")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
app.task(7)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
App(queue=7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
App(payload="1 MB")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
