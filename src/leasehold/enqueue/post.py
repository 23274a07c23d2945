"""From rows to a committed transaction: ours, coalesced and repeatable, or the caller's own."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import islice
from typing import Any
from uuid import UUID

from leasehold.define.options import Options
from leasehold.define.task import Definition
from leasehold.enqueue import accept
from leasehold.enqueue.bulk import CHUNK, STEP, Bulk, Progress
from leasehold.enqueue.coalesce import Coalescer
from leasehold.enqueue.ids import Ids
from leasehold.errors import LeaseholdError, Unreachable
from leasehold.store import connect, drivers, reads, verbs
from leasehold.store.call import Call
from leasehold.store.copy import copy_jobs, copy_jobs_sync
from leasehold.store.drivers.psycopg import run_followed_sync, run_sync
from leasehold.store.lane import ANSWER, UNKNOWN, Lane
from leasehold.store.refusal import AstrayId
from leasehold.store.verbs import Enqueued
from leasehold.store.watchdog import watchdog

log = logging.getLogger("leasehold.enqueue")

Arguments = Iterable[Mapping[str, Any]]
Steps = Iterable[tuple[list[UUID], list[bytes]]]
Guarded = AbstractContextManager[Callable[[], None]]


class Post:
    """For one event loop: a connection of its own, many callers in one commit.

    Ids are made here, so that asking again after a lost answer stores nothing twice.
    """

    def __init__(self, dsn: str, ids: Ids) -> None:
        self._lane, self._ids = Lane(dsn), ids
        self._coalescer = Coalescer(self._send)

    async def enqueue(self, row: accept.Row) -> Enqueued:
        return await self._coalescer.enqueue(row)

    async def enqueue_many(
        self, definition: Definition, options: Options, arguments: Arguments, progress: Progress
    ) -> list[Enqueued]:
        """All of them in one transaction, by COPY."""
        # Measured each time: arguments that are a generator cannot be sent once more.
        self._ids.doubted()
        await self._measure()
        asked = Bulk(definition, options, arguments, self._ids)
        async with self._lane.transaction() as (connection, alive):
            stored = await _copied(connection, asked, self._ids.now(), progress, alive)
        if asked.wakes and stored:
            with _unharmed():
                await self._lane.ask(verbs.wake([asked.queue], len(stored)))
        return stored

    async def close(self) -> None:
        await self._lane.close()

    def forget(self) -> None:
        self._lane.forget()

    async def _send(self, rows: list[accept.Row]) -> list[Enqueued]:
        try:
            return await self._store(rows)
        except AstrayId:
            self._ids.doubted()
            return await self._store(rows)

    async def _store(self, rows: list[accept.Row]) -> list[Enqueued]:
        await self._measure()
        named = zip(self._ids.make(len(rows)), rows, strict=True)
        document = accept.document([{"id": made, **row} for made, row in named])
        queues = sorted({accept.queue_of(row) for row in rows if accept.runs_at_once(row)})
        # Right behind the commit, not within it: a NOTIFY would make all commits wait in line.
        wakes = verbs.wake(queues, len(rows)) if queues else None
        return await self._lane.ask_twice(verbs.enqueue(document), wakes)

    async def _measure(self) -> None:
        if self._ids.stale:
            self._ids.measured(await self._lane.ask_twice(reads.clock_now()))


class PostSync:
    """The same for whoever has no event loop; one caller at a time."""

    def __init__(self, open_: Callable[[], str], ids: Ids) -> None:
        self._open, self._ids = open_, ids
        self._connection: connect.Connection | None = None
        self._turn = threading.RLock()

    def ask(self, call: Call[Any], follower: Call[Any] | None = None) -> Any:
        with self._turn:
            connection = self._connected()
            with watchdog.guard(connection, ANSWER):
                if follower is None:
                    return run_sync(connection, call)
                return run_followed_sync(connection, call, follower)

    def enqueue(self, row: accept.Row) -> Enqueued:
        with self._turn:
            try:
                return self._store(row)
            except AstrayId:
                self._ids.doubted()
                return self._store(row)

    def _store(self, row: accept.Row) -> Enqueued:
        call = verbs.enqueue(self._named(row))
        wakes = verbs.wake([accept.queue_of(row)]) if accept.runs_at_once(row) else None
        try:
            [stored] = self.ask(call, wakes)
        except Unreachable:
            [stored] = self.ask(call, wakes)
        answer: Enqueued = stored
        return answer

    def enqueue_many(
        self, definition: Definition, options: Options, arguments: Arguments, progress: Progress
    ) -> list[Enqueued]:
        with self._turn:
            self._ids.measured(self.ask(reads.clock_now()))
            connection = self._connected()
            asked = Bulk(definition, options, arguments, self._ids)

            def guard() -> Guarded:
                return watchdog.guard(connection, ANSWER)

            try:
                with _transaction(connection, guard):
                    stored = _copied_sync(connection, asked, self._ids.now(), progress, guard)
            except connect.Error as error:
                if not connection.closed:
                    raise
                raise Unreachable(UNKNOWN.format(error)) from error
            if asked.wakes and stored:
                with _unharmed():
                    self.ask(verbs.wake([asked.queue], len(stored)))
            return stored

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> connect.Connection:
        dsn = self._open()
        if self._connection is None or self._connection.closed:
            self._connection = connect.connect_sync(dsn)
        return self._connection

    def _named(self, row: accept.Row) -> str:
        if self._ids.stale:
            self._ids.measured(self.ask(reads.clock_now()))
        return accept.document([{"id": self._ids.make(1)[0], **row}])


async def enqueue_on(conn: Any, row: accept.Row) -> Enqueued:
    """In the transaction that somebody's connection is in."""
    [stored] = await drivers.carry(conn, verbs.enqueue(accept.document([row])))
    answer: Enqueued = stored
    return answer


def enqueue_on_sync(conn: Any, row: accept.Row) -> Enqueued:
    [stored] = drivers.carry_sync(conn, verbs.enqueue(accept.document([row])))
    answer: Enqueued = stored
    return answer


async def enqueue_many_on(
    conn: Any, definition: Definition, options: Options, arguments: Arguments, progress: Progress
) -> list[Enqueued]:
    """By COPY where the connection can, else a thousand in a statement."""
    ids = Ids()
    ids.measured(await drivers.carry(conn, reads.clock_now()))
    asked = Bulk(definition, options, arguments, ids)
    if drivers.kind_of(conn) == ("psycopg", "async"):
        return await _copied(conn, asked, ids.now(), progress)
    stored: list[Enqueued] = []
    for document in asked.documents():
        stored += await drivers.carry(conn, verbs.enqueue(document))
        progress(len(stored))
    return stored


def enqueue_many_on_sync(
    conn: Any, definition: Definition, options: Options, arguments: Arguments, progress: Progress
) -> list[Enqueued]:
    ids = Ids()
    ids.measured(drivers.carry_sync(conn, reads.clock_now()))
    asked = Bulk(definition, options, arguments, ids)
    if drivers.kind_of(conn) == ("psycopg", "sync"):
        with conn.transaction():
            return _copied_sync(conn, asked, ids.now(), progress)
    stored: list[Enqueued] = []
    for document in asked.documents():
        stored += drivers.carry_sync(conn, verbs.enqueue(document))
        progress(len(stored))
    return stored


def _unwatched() -> None:
    """On a connection of the caller's: how long it may be silent is up to him."""


async def _copied(
    connection: Any,
    asked: Bulk,
    now: int,
    progress: Progress,
    alive: Callable[[], None] = _unwatched,
) -> list[Enqueued]:
    columns, steps = asked.columns(now), asked.steps()
    more = True

    async def chunk() -> AsyncIterator[bytes]:
        nonlocal more
        for _ in range(CHUNK // STEP):
            step = next(steps, None)
            alive()  # what was written is gone; making the next took as long as the caller liked
            if step is None:
                more = False
                return
            yield columns.lines(*step)
            # The lines before these are on their way while the next are made.
            await asyncio.sleep(0)

    while more:
        await copy_jobs(connection, columns, chunk())
        progress(len(asked.ids))
        alive()
    twins = await drivers.carry(connection, reads.twins(asked.ids)) if asked.keyed else {}
    return [Enqueued(made, twins.get(made)) for made in asked.ids]


def _copied_sync(
    connection: Any,
    asked: Bulk,
    now: int,
    progress: Progress,
    guard: Callable[[], Guarded] = lambda: nullcontext(_unwatched),
) -> list[Enqueued]:
    columns, steps = asked.columns(now), asked.steps()

    def chunk(some: Steps, alive: Callable[[], None]) -> Iterator[bytes]:
        for step in some:
            yield columns.lines(*step)
            alive()

    while some := list(islice(steps, CHUNK // STEP)):
        with guard() as alive:
            copy_jobs_sync(connection, columns, chunk(some, alive))
        progress(len(asked.ids))
    twins: Mapping[UUID, UUID] = {}
    if asked.keyed:
        with guard():
            twins = drivers.carry_sync(connection, reads.twins(asked.ids))
    return [Enqueued(made, twins.get(made)) for made in asked.ids]


@contextmanager
def _transaction(connection: connect.Connection, guard: Callable[[], Guarded]) -> Iterator[None]:
    """Its statements are guarded one by one: between them, the caller's code takes its time."""
    with guard():
        connection.execute("begin")
    try:
        yield
    except BaseException:
        with suppress(connect.Error), guard():
            connection.rollback()
        raise
    with guard():
        connection.commit()


@contextmanager
def _unharmed() -> Iterator[None]:
    """The jobs are stored: whoever heard that waking failed would enqueue them again.

    A poll finds them.
    """
    try:
        yield
    except (LeaseholdError, connect.Error) as error:
        log.warning("runners could not be woken, they look by themselves: %s", error)
