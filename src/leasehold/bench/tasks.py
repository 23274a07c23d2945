"""The tasks that benchmarks run: they do nothing, and one says when it began."""

import os
import time

from leasehold.app import App

app = App(os.environ.get("LEASEHOLD_BENCH_DATABASE", "leasehold-bench"))


@app.task
async def noop(user_id: int) -> None:
    """The least a job can do."""


@app.task(queue="pick-up")
async def began() -> int:
    """When its function began, on the clock that all processes of a machine share."""
    return time.monotonic_ns()
