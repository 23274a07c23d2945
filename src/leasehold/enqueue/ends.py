"""Waits for the ends of jobs that run anywhere.

Postgres tells when they end; it is asked again now and then, in case a word got lost.
"""

import asyncio
import secrets
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from leasehold.enqueue.handle import LIVE
from leasehold.errors import NotFound, Unreachable
from leasehold.store import reads, verbs
from leasehold.store.lane import Lane

SOON: Final = 0.05  # seconds until a new waiter looks once more by itself
CLOSED: Final = "the app was closed while this waited for the end of a job: ask again"
LOOK: Final = 2.0  # seconds between two looks at what is still awaited


class Told:
    """Those who wait for one job."""

    def __init__(self) -> None:
        self.event, self.waiters = asyncio.Event(), 0
        self.abandoned = False  # nobody will tell them: the app was closed

    async def within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.event.wait()
        return self.event.is_set()


class Ends:
    """One listening connection for all waiters of a process, opened by the first."""

    def __init__(self, dsn: str, ask: Any) -> None:
        self._channel = f"leasehold_waiter_{secrets.token_hex(8)}"
        self._lane = Lane(dsn, self._channel)
        self._ask = ask
        self._awaited: dict[UUID, Told] = {}
        self._listening: asyncio.Task[None] | None = None

    async def wait(self, job: UUID, timeout: float | None) -> bool:
        """True when the job has ended, False when time is over; NotFound where there is none."""
        told = self._awaited.setdefault(job, Told())
        told.waiters += 1
        try:
            async with asyncio.timeout(timeout):
                await self._lane.ready()
                if await self._ask(verbs.watch([job], self._channel)):
                    return True
                if self._listening is None or self._listening.done():
                    self._listening = asyncio.create_task(self._listen())
                # An end that was being written when we began to watch told nobody: look once more.
                if not await told.within(SOON) and await self._has_ended(job):
                    return True
                await told.event.wait()
                if told.abandoned:
                    raise Unreachable(CLOSED)
                return True
        except TimeoutError:
            return False
        finally:
            told.waiters -= 1
            if not told.waiters and self._awaited.get(job) is told:
                del self._awaited[job]

    async def _has_ended(self, job: UUID) -> bool:
        rows = await self._ask(reads.standing([job]))
        if not rows:
            raise NotFound(job)
        return rows[0][2] not in LIVE

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
                if told := self._awaited.pop(job, None):
                    told.event.set()

    async def close(self) -> None:
        if self._listening:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        for told in self._awaited.values():
            told.abandoned = True
            told.event.set()
        await self._lane.close()

    def forget(self) -> None:
        self._lane.forget()
