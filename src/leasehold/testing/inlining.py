"""Jobs run where they are enqueued, before the call returns."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch
from uuid import UUID

from leasehold.app import App
from leasehold.define.options import Options
from leasehold.define.task import Definition
from leasehold.enqueue import accept
from leasehold.enqueue.bulk import Progress
from leasehold.enqueue.post import Arguments
from leasehold.errors import EndlessChain
from leasehold.store.verbs import Enqueued
from leasehold.testing.stepper import deep
from leasehold.testing.stepping import Stepping

DEPTH: Final = 20  # jobs enqueued by jobs enqueued by jobs: each runs within the one before


@contextmanager
def inline(app: App, *, depth: int = DEPTH) -> Iterator[None]:
    """While it lasts, each enqueue of this app stores its jobs, runs them and then returns.

    What may not run yet stays stored, as does what is enqueued on a `conn`: its transaction is
    still open. A job that fails raises where its result is asked for.
    """
    line = Inline(app, depth)
    try:
        # Attributes of this one app, over the methods of its class.
        with patch.multiple(
            app,
            enqueue=line.enqueue,
            enqueue_sync=line.enqueue_sync,
            enqueue_many=line.enqueue_many,
            enqueue_many_sync=line.enqueue_many_sync,
        ):
            yield
    finally:
        line.close()


class Inline:
    """The four ways to enqueue, each with the run behind it."""

    def __init__(self, app: App, depth: int) -> None:
        self._app, self._depth = app, depth
        self._enqueue, self._enqueue_sync = app.enqueue, app.enqueue_sync
        self._enqueue_many, self._enqueue_many_sync = app.enqueue_many, app.enqueue_many_sync
        self._on_loops: dict[asyncio.AbstractEventLoop, Stepping] = {}
        # A sync call holds up its thread, and the loop that may turn there: another one, made by
        # the job that it runs, takes another stepper.
        self._all: deque[Stepping] = deque()
        self._free: deque[Stepping] = deque()

    async def enqueue(self, row: accept.Row, conn: Any) -> Enqueued:
        if conn is not None:
            return await self._enqueue(row, conn)
        self._go_deeper()
        stored = await self._enqueue(row, conn)
        await self._run([stored], accept.queue_of(row))
        return stored

    def enqueue_sync(self, row: accept.Row, conn: Any) -> Enqueued:
        if conn is not None:
            return self._enqueue_sync(row, conn)
        self._go_deeper()
        stored = self._enqueue_sync(row, conn)
        self._run_sync([stored], accept.queue_of(row))
        return stored

    async def enqueue_many(
        self,
        definition: Definition,
        options: Options,
        arguments: Arguments,
        conn: Any,
        progress: Progress,
    ) -> list[Enqueued]:
        if conn is not None:
            return await self._enqueue_many(definition, options, arguments, conn, progress)
        self._go_deeper()
        stored = await self._enqueue_many(definition, options, arguments, conn, progress)
        await self._run(stored, options.queue or accept.QUEUE)
        return stored

    def enqueue_many_sync(
        self,
        definition: Definition,
        options: Options,
        arguments: Arguments,
        conn: Any,
        progress: Progress,
    ) -> list[Enqueued]:
        if conn is not None:
            return self._enqueue_many_sync(definition, options, arguments, conn, progress)
        self._go_deeper()
        stored = self._enqueue_many_sync(definition, options, arguments, conn, progress)
        self._run_sync(stored, options.queue or accept.QUEUE)
        return stored

    def _go_deeper(self) -> None:
        """Before anything is stored."""
        if deep.get() >= self._depth:
            happened = f"jobs that run inline enqueue each other {self._depth} deep"
            raise EndlessChain(self._depth, happened)

    async def _run(self, stored: Iterable[Enqueued], queue: str) -> None:
        loop = asyncio.get_running_loop()
        stepping = self._on_loops.setdefault(loop, Stepping(self._app))
        await _run_on(stepping, stored, queue)

    def _run_sync(self, stored: Iterable[Enqueued], queue: str) -> None:
        try:
            stepping = self._free.pop()
        except IndexError:
            stepping = Stepping(self._app)
            self._all.append(stepping)
        try:
            stepping.sync(_run_on(stepping, stored, queue))
        finally:
            self._free.append(stepping)

    def close(self) -> None:
        for stepping in (*self._on_loops.values(), *self._all):
            stepping.close()


async def _run_on(stepping: Stepping, stored: Iterable[Enqueued], queue: str) -> None:
    wanted: dict[UUID, str] = {one.id: queue for one in stored if one.duplicate_of is None}
    if wanted:
        stepper = await stepping.ready()
        try:
            await stepper.run_these(wanted)
        finally:
            await stepper.children.close()
