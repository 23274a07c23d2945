"""The process that enqueues an app's sample jobs: a supervisor imports no user code.

Started by `leasehold up` as `python -m leasehold.cli.sampling TARGET`, with DATABASE_URL
set; prints the ids of the jobs.
"""

import asyncio
import inspect
import signal
import sys
from typing import Any

from leasehold.cli.target import load
from leasehold.enqueue.handle import Handle
from leasehold.errors import LeaseholdError


async def enqueue_samples(target: str) -> list[str]:
    """Calls `sample` of the app's module; an app without one has none, which is fine."""
    app = load(target)
    sample = getattr(sys.modules[target.partition(":")[0]], "sample", None)
    if sample is None:
        return []
    async with app:
        answer: Any = sample(app) if inspect.signature(sample).parameters else sample()
        if inspect.isawaitable(answer):
            answer = await answer
    return [str(handle.id) for handle in answer or () if isinstance(handle, Handle)]


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the supervisor, which ends us
    try:
        ids = asyncio.run(enqueue_samples(sys.argv[1]))
    except LeaseholdError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("".join(f"{job}\n" for job in ids))
    return 0


if __name__ == "__main__":
    sys.exit(main())
