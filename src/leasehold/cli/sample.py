"""The app that `leasehold up` runs when it is given none: a job of every kind there is to see."""

import asyncio
from typing import Any

from leasehold import App, Cancel, Handle, Retry, current_job

app = App(queue="sample")


@app.task
async def quick(number: int) -> int:
    """Ends at once."""
    return number * number


@app.task
async def slow(steps: int) -> str:
    """Says how far it is."""
    for step in range(steps):
        current_job().progress(100 * step / steps, f"step {step + 1} of {steps}")
        await asyncio.sleep(0.5)
    return f"{steps} steps"


@app.task(retry=Retry(max_attempts=3, backoff="fixed", base=0.5))
async def flaky(name: str) -> str:
    """Fails once, then is fine."""
    if current_job().attempt == 1:
        msg = f"{name} is out, try again"
        raise ConnectionError(msg)
    return f"{name} is back"


@app.task(retry=Retry(max_attempts=2, backoff="fixed", base=0.5))
async def broken(amount: int) -> None:
    """Fails for good, and lands in the dead letter."""
    msg = f"cannot book {amount}: the account is closed"
    raise ValueError(msg)


@app.task
async def unwanted(user_id: int) -> None:
    """Finds out that nobody wants it."""
    raise Cancel(f"user {user_id} has unsubscribed")


async def sample() -> list[Handle[Any]]:
    """The jobs that `leasehold up` enqueues; an app of yours may have such a function too."""
    return [
        await quick.enqueue(number=12),
        await slow.enqueue(steps=4),
        await flaky.enqueue(name="the mail server"),
        await broken.enqueue(amount=100),
        await unwanted.enqueue(user_id=7),
        await slow.using(delay=3600).enqueue(steps=2),
    ]
