"""A first app: run it with `leasehold up examples.welcome:app`, then change it while it runs.

Each task shows one way a job can go; `sample` enqueues one of each.
"""

import asyncio
from typing import Any

from leasehold import App, Cancel, Handle, Retry, current_job

app = App(queue="mail")


@app.task
async def welcome(user_id: int) -> dict[str, int]:
    """Arguments are checked when a job is enqueued, and decoded by their annotations."""
    return {"user_id": user_id}


@app.task(queue="reports", timeout=30)
async def report(pages: int) -> str:
    """Long work says how far it is: `leasehold explain JOB` shows it while it runs."""
    for page in range(pages):
        current_job().progress(100 * page / pages, f"page {page + 1} of {pages}")
        await asyncio.sleep(0.5)
    return f"{pages} pages"


@app.task(retry=Retry(max_attempts=3, backoff="fixed", base=0.5))
async def newsletter(list_name: str) -> str:
    """Fails once, as the network does, and is tried again by its retry rule."""
    if current_job().attempt == 1:
        msg = "the mail server is out, try again"
        raise ConnectionError(msg)
    return f"sent to {list_name}"


@app.task(retry=Retry(max_attempts=2, backoff="fixed", base=0.5))
async def invoice(amount: int) -> None:
    """Fails for good: it lands in the dead letter, and `leasehold retry` brings it back."""
    msg = f"cannot book {amount}: the account is closed"
    raise ValueError(msg)


@app.task
async def goodbye(user_id: int) -> None:
    """Finds out that its work is not wanted any more."""
    raise Cancel(f"user {user_id} has come back")


async def sample() -> list[Handle[Any]]:
    """What `leasehold up` enqueues when it starts."""
    return [
        await welcome.enqueue(user_id=1),
        await report.enqueue(pages=4),
        await newsletter.enqueue(list_name="everybody"),
        await invoice.enqueue(amount=100),
        await goodbye.enqueue(user_id=7),
        await welcome.using(delay=3600, key="welcome-2").enqueue(user_id=2),
    ]
