"""Waits for the ends of jobs that run anywhere.

Postgres tells when they end; it is asked again now and then, in case a word got lost.
"""

import asyncio
import secrets
from typing import Any, Final
from uuid import UUID

from leasehold.errors import Unreachable
from leasehold.store import verbs
from leasehold.store.lane import Lane

LOOK: Final = 2.0  # seconds between two looks at what is still awaited


class Ends:
    """One listening connection for all waiters of a process, opened by the first."""

    def __init__(self, dsn: str, ask: Any) -> None:
        self._channel = f"leasehold_waiter_{secrets.token_hex(8)}"
        self._lane = Lane(dsn, self._channel)
        self._ask = ask
        self._awaited: dict[UUID, asyncio.Event] = {}
        self._listening: asyncio.Task[None] | None = None

    async def wait(self, job: UUID, timeout: float | None) -> bool:
        """True when the job has ended; False when the time is over."""
        try:
            async with asyncio.timeout(timeout):
                await self._lane.ready()
                if await self._ask(verbs.watch([job], self._channel)):
                    return True
                event = self._awaited.setdefault(job, asyncio.Event())
                if self._listening is None or self._listening.done():
                    self._listening = asyncio.create_task(self._listen())
                await event.wait()
                return True
        except TimeoutError:
            return False

    async def _listen(self) -> None:
        while self._awaited:
            try:
                heard = [UUID(payload) for payload in await self._lane.heard(LOOK)]
                if not heard:
                    heard = list(await self._ask(verbs.watch(list(self._awaited), self._channel)))
            except Unreachable:
                await asyncio.sleep(LOOK)
                continue
            for job in heard:
                if event := self._awaited.pop(job, None):
                    event.set()

    async def close(self) -> None:
        if self._listening:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._lane.close()
