"""Many pages in one call, with retries by kind of error, and one long job that tells how far it is.

    python examples/crawl.py

The web is played by a function, so that it runs anywhere. With DATABASE_URL it uses that database,
in a terminal without it an embedded Postgres.
"""

import asyncio

from leasehold import App, Retry, current_job

app = App()

PAGES = 200
PIECE = 50  # pages that the summary reads between two saves
PATIENCE = 3  # attempts after which a busy site answers


class Gone(Exception):
    """The page is not there, and will not be the next time."""


class Busy(Exception):
    """The site asks us to come back."""


async def get(page: int, attempt: int) -> str:
    """The web: every 50th page is gone, every 20th is busy at first."""
    await asyncio.sleep(0)
    if page % 50 == 0:
        raise Gone(f"/{page}")
    if page % 20 == 0 and attempt < PATIENCE:
        raise Busy(f"/{page}")
    return "word " * (page % 7 + 1)


@app.task(
    queue="crawl",
    retry=Retry(max_attempts=5, backoff=[0.05, 0.1, 0.2, 0.4], terminal=(Gone,), transient=(Busy,)),
)
async def fetch(page: int) -> int:
    """How many words the page has."""
    text = await get(page, current_job().attempt)
    return len(text.split())


@app.task(queue="crawl", retry=Retry(max_attempts=3, backoff="fixed", base=0.1))
async def summarise(words: list[int]) -> int:
    """In pieces: what an attempt has saved, the next one does not do again."""
    job = current_job()
    saved = await job.checkpoint() or {"at": 0, "sum": 0}
    for at in range(saved["at"], len(words), PIECE):
        if at == 2 * PIECE and job.attempt == 1:
            raise Busy("half way")
        piece = words[at : at + PIECE]
        saved = {"at": at + len(piece), "sum": saved["sum"] + sum(piece)}
        job.progress(100 * saved["at"] / len(words), f"{saved['at']} of {len(words)} pages")
        await job.save(saved)
    return saved["sum"]


async def main() -> None:
    async with app, app.worker(concurrency=50):
        handles = await fetch.enqueue_many({"page": n} for n in range(1, PAGES + 1))
        ended = await asyncio.gather(*(handle.wait(timeout=30) for handle in handles))
        print("succeeded:", sum(status.state == "succeeded" for status in ended))
        print("failed:", sum(status.state == "failed" for status in ended))
        print("tried more than once:", sum(status.attempts > 1 for status in ended))

        good = [h for h, status in zip(handles, ended, strict=True) if status.state == "succeeded"]
        words = await asyncio.gather(*(handle.result() for handle in good))
        summary = await summarise.enqueue(words)
        print("words:", await summary.result(timeout=30), "of", sum(words))
        status = await summary.status()
        print("attempts of the summary:", status.attempts)


if __name__ == "__main__":
    asyncio.run(main())
