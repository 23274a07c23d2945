"""What an event loop asks by: a connection belongs to the loop that opened it."""

import asyncio
import threading
from typing import TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary, finalize

from leasehold.enqueue.ends import Ends
from leasehold.enqueue.ids import Ids
from leasehold.enqueue.post import Post
from leasehold.store.call import Call
from leasehold.store.lane import Lane

T = TypeVar("T")


class Desk:
    """For one event loop: where it posts, asks, and hears of ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop, dsn: str, ids: Ids) -> None:
        self.post, self._asking = Post(dsn, ids), Lane(dsn)
        self._ends = Ends(dsn, self._asking.ask)
        self._closing: asyncio.Task[None] | None = None
        # A loop that nobody closed takes its desk along when it is collected.
        self._collected = finalize(loop, self.forget)
        self._collected.atexit = False

    async def ask(self, call: Call[T]) -> T:
        return await self._asking.ask(call)

    async def ended(self, job: UUID, timeout: float | None) -> bool:
        return await self._ends.wait(job, timeout)

    async def close(self) -> None:
        self._collected.detach()
        for part in (self._ends, self.post, self._asking):
            await part.close()

    def close_soon(self) -> None:
        """On its loop, which keeps no hold of what it runs."""
        self._closing = asyncio.create_task(self.close())

    def forget(self) -> None:
        """Its loop is gone."""
        self._collected.detach()
        for part in (self._ends, self.post, self._asking):
            part.forget()


class Desks:
    """One for each event loop that asks; those of other threads live beside ours."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._lock = threading.Lock()
        self._desks: WeakKeyDictionary[asyncio.AbstractEventLoop, Desk] = WeakKeyDictionary()

    def here(self) -> Desk | None:
        with self._lock:
            return self._desks.get(asyncio.get_running_loop())

    def open(self, dsn: str) -> Desk:
        """The running loop's, whichever of its tasks came first."""
        loop = asyncio.get_running_loop()
        self.sweep()
        with self._lock:
            if loop not in self._desks:
                self._desks[loop] = Desk(loop, dsn, self._ids)
            return self._desks[loop]

    async def close(self) -> None:
        """The running loop's."""
        with self._lock:
            desk = self._desks.pop(asyncio.get_running_loop(), None)
        if desk is not None:
            await desk.close()

    def sweep(self) -> None:
        """Loops that were closed left their desks as they were."""
        with self._lock:
            gone = [self._desks.pop(loop) for loop in list(self._desks) if loop.is_closed()]
        for desk in gone:
            desk.forget()

    def leave(self) -> None:
        """All: each loop that still lives closes its own, on its own thread."""
        with self._lock:
            left, self._desks = dict(self._desks), WeakKeyDictionary()
        for loop, desk in left.items():
            try:
                loop.call_soon_threadsafe(desk.close_soon)
            except RuntimeError:  # it is closed
                desk.forget()
