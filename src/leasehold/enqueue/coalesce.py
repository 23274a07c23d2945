"""Many callers, one commit: what is asked during one statement goes together in the next.

A lone caller waits for nobody.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from leasehold.enqueue import accept
from leasehold.errors import Unreachable
from leasehold.store.verbs import Enqueued

MOST = 500  # jobs in one statement


class Coalescer:
    """`send` stores rows in one transaction and answers in their order."""

    def __init__(self, send: Callable[[list[accept.Row]], Awaitable[list[Enqueued]]]) -> None:
        self._send = send
        self._asked: list[tuple[accept.Row, asyncio.Future[Enqueued]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def enqueue(self, row: accept.Row) -> Enqueued:
        future: asyncio.Future[Enqueued] = asyncio.get_running_loop().create_future()
        self._asked.append((row, future))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())
        return await future

    async def _send_all(self) -> None:
        try:
            while self._asked:
                batch, self._asked = self._asked[:MOST], self._asked[MOST:]
                await self._send_batch([entry for entry in batch if not entry[1].cancelled()])
        finally:
            self._sending = None

    async def _send_batch(self, batch: list[tuple[accept.Row, asyncio.Future[Any]]]) -> None:
        if not batch:
            return
        try:
            answers = await self._send([row for row, _ in batch])
        except Exception as error:  # noqa: BLE001 - each caller gets it
            # Nobody knows whether an unanswered batch was stored: sent again, it could be twice.
            if len(batch) > 1 and not isinstance(error, Unreachable):
                # One caller's bad row is not its neighbours' fault.
                for entry in batch:
                    await self._send_batch([entry])
                return
            answers = [error] * len(batch)  # type: ignore[list-item]
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.cancelled():
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
