"""Tasks that are plain functions: they run in threads beside the loop."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Threads:
    """Begun with the first function that needs one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    async def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="leasehold-job")
        context = contextvars.copy_context()
        begun = self._pool.submit(context.run, _plain, function, args, kwargs)
        future = asyncio.wrap_future(begun)
        while True:
            try:
                return await asyncio.shield(future)
            except asyncio.CancelledError:
                # A thread is told, never killed: its slot is taken until the function has stopped.
                if begun.cancel() or self._closed:  # not begun yet: it never begins
                    raise
                if future.done():
                    return future.result()

    def close(self) -> None:
        """Whatever still runs is left to itself."""
        self._closed = True
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _plain(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except (StopIteration, GeneratorExit) as error:
        # No future takes the first, and nobody would hear of the end; the second, thrown into the
        # slot by the future, would close it.
        msg = f"its function raised {type(error).__name__}"
        raise RuntimeError(msg) from error
