"""App and Task: what users hold. Wires the rooms, and holds nothing else."""

import asyncio
import atexit
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload
from uuid import UUID

from leasehold.define.options import Options
from leasehold.define.task import Definition, Run
from leasehold.enqueue import accept
from leasehold.enqueue.bulk import CHUNK, STEP, Bulk, Progress
from leasehold.enqueue.coalesce import Coalescer
from leasehold.enqueue.ends import Ends
from leasehold.enqueue.handle import Handle
from leasehold.enqueue.ids import Ids
from leasehold.errors import DefinitionError, KeyTaken, LeaseholdError, Unreachable
from leasehold.fleet.heartbeat import Heartbeat
from leasehold.maintain.leader import Leader
from leasehold.observe.board import Board
from leasehold.payloads.codec import LIMIT, Codec
from leasehold.payloads.kinds import Custom
from leasehold.runner.run import Pace, Runner
from leasehold.store import connect, drivers, reads, verbs
from leasehold.store.address import Address
from leasehold.store.call import Call
from leasehold.store.copy import copy_jobs, copy_jobs_sync
from leasehold.store.drivers.psycopg import run_sync
from leasehold.store.lane import Lane
from leasehold.store.verbs import Enqueued

log = logging.getLogger("leasehold.enqueue")
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Arguments = Iterable[Mapping[str, Any]]


class App:
    """Tasks, and the database their jobs live in.

    `App()` takes DATABASE_URL, or in a terminal an embedded Postgres in `.leasehold/`;
    `App("postgresql://…")` that database; `App(".data")` an embedded one in that folder.
    Opens on first use, closes with `async with app` or at exit.
    """

    def __init__(
        self,
        url: str | Path | None = None,
        *,
        queue: str | None = None,
        payload_limit: int = LIMIT,
        customs: Iterable[Custom] = (),
    ) -> None:
        self.address = Address(url)
        self.definitions: dict[str, Definition] = {}
        self._defaults = Options.checked(queue=queue)
        self._payload_limit, self._customs = payload_limit, tuple(customs)
        self._opening = threading.Lock()
        self._ids = Ids()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._enqueueing: Lane | None = None
        self._asking: Lane | None = None
        self._ends: Ends | None = None
        self._coalescer = Coalescer(self._send)
        self._sync: connect.Connection | None = None
        self._sync_turn = threading.RLock()

    # Defining.

    @overload
    def task(self, function: Callable[P, Awaitable[R]], /) -> "Task[P, R]": ...
    @overload
    def task(self, function: Callable[P, R], /) -> "Task[P, R]": ...
    @overload
    def task(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        run: Run | None = None,
        exclusive: bool = False,
        **options: Any,
    ) -> "_Decorator": ...
    def task(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        run: Run | None = None,
        exclusive: bool = False,
        **options: Any,
    ) -> Any:
        """Makes a function a task.

        It stays callable; `.enqueue(...)` runs it elsewhere. Options: see `Options`.
        """
        said = Options.checked(**options).over(self._defaults)

        def define(function: Callable[..., Any]) -> Task[Any, Any]:
            definition = Definition.of(
                function,
                codec_of=self._codec,
                name=name,
                options=said,
                run=run,
                exclusive=exclusive,
            )
            known = self.definitions.get(definition.name)
            if known is not None and known.function.__module__ != function.__module__:
                raise DefinitionError(
                    definition.name,
                    f"is defined twice, in {known.function.__module__} and "
                    f"{function.__module__}: give one a name=",
                )
            self.definitions[definition.name] = definition
            return Task(self, definition)

        return define if function is None else define(function)

    def _codec(self, function: Callable[..., Any], task: str) -> Codec:
        return Codec.of(function, task, customs=self._customs, payload_limit=self._payload_limit)

    def queues(self) -> list[str]:
        """Every queue that a task of this app is enqueued to."""
        return sorted(
            {definition.options.queue or accept.QUEUE for definition in self.definitions.values()}
            or {accept.QUEUE}
        )

    def job(self, job: UUID | str) -> "Handle[Any]":
        """The handle of a job whose id you have."""
        return Handle(self, job if isinstance(job, UUID) else UUID(job))

    # Opening and closing.

    async def open(self) -> None:
        """Happens by itself on first use."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        dsn = await asyncio.to_thread(self.open_sync)
        if self._loop is loop:
            return  # somebody else was quicker
        # What belonged to another loop ended with it.
        self._loop, self._coalescer = loop, Coalescer(self._send)
        self._enqueueing, self._asking = Lane(dsn), Lane(dsn)
        self._ends = Ends(dsn, self._asking.ask)

    def open_sync(self) -> str:
        """Finds, and where it is our own starts, the database; answers its address."""
        with self._opening:
            if not self.address.opened:
                self.address.open()
                atexit.register(self.close_sync)
            return self.address.dsn

    async def close(self) -> None:
        """Connections are closed; an embedded server that nobody else uses stops."""
        for part in (self._ends, self._enqueueing, self._asking):
            if part is not None:
                await part.close()
        self._loop = self._enqueueing = self._asking = self._ends = None
        await asyncio.to_thread(self.close_sync)

    def close_sync(self) -> None:
        with self._opening:
            atexit.unregister(self.close_sync)
            if self._sync is not None:
                self._sync.close()
                self._sync = None
            self.address.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> Self:
        self.open_sync()
        return self

    def __exit__(self, *_: object) -> None:
        self.close_sync()

    # Asking.

    async def ask(self, call: Call[T]) -> T:
        await self.open()
        assert self._asking is not None  # noqa: S101 - open() made it
        return await self._asking.ask(call)

    def ask_sync(self, call: Call[T]) -> T:
        with self._sync_turn:
            return run_sync(self._sync_connection(), call)

    def _sync_connection(self) -> connect.Connection:
        dsn = self.open_sync()
        if self._sync is None or self._sync.closed:
            self._sync = connect.connect_sync(dsn)
        return self._sync

    async def ended(self, job: UUID, timeout: float | None) -> bool:
        await self.open()
        assert self._ends is not None  # noqa: S101 - open() made it
        return await self._ends.wait(job, timeout)

    def decoded(self, task: str, raw: bytes | None) -> Any:
        if definition := self.definitions.get(task):
            return definition.codec.decode_result(raw)
        return Codec.plain(raw)

    # Enqueueing.

    async def enqueue_row(self, row: accept.Row, conn: Any) -> Enqueued:
        if conn is not None:
            stored: Enqueued = (await drivers.carry(conn, verbs.enqueue(accept.document([row]))))[0]
            return stored
        await self.open()
        return await self._coalescer.enqueue(row)

    def enqueue_row_sync(self, row: accept.Row, conn: Any) -> Enqueued:
        if conn is not None:
            stored: Enqueued = drivers.carry_sync(conn, verbs.enqueue(accept.document([row])))[0]
            return stored
        with self._sync_turn:
            try:
                [stored] = self.ask_sync(verbs.enqueue(self._named_sync(row)))
            except Unreachable:
                [stored] = self.ask_sync(verbs.enqueue(self._named_sync(row)))
            if accept.runs_at_once(row):
                with _unharmed():
                    self.ask_sync(verbs.wake([accept.queue_of(row)]))
            return stored

    def _named_sync(self, row: accept.Row) -> str:
        """With an id, so that asking again after a lost answer stores nothing twice."""
        if "id" not in row:
            if self._ids.stale:
                self._ids.measured(self.ask_sync(reads.clock_now()))
            [row["id"]] = self._ids.make(1)
        return accept.document([row])

    async def _send(self, rows: list[accept.Row]) -> list[Enqueued]:
        """One transaction.

        Ids are made here, so that asking again after a lost answer stores nothing twice.
        """
        lane = self._enqueueing
        assert lane is not None  # noqa: S101 - open() made it
        if self._ids.stale:
            self._ids.measured(await lane.ask_twice(reads.clock_now()))
        document = accept.document(
            [{"id": made, **row} for made, row in zip(self._ids.make(len(rows)), rows, strict=True)]
        )
        stored = await lane.ask_twice(verbs.enqueue(document))
        if queues := sorted({accept.queue_of(row) for row in rows if accept.runs_at_once(row)}):
            with _unharmed():
                await lane.ask(verbs.wake(queues, len(rows)))
        return stored

    async def enqueue_bulk(
        self,
        definition: Definition,
        options: Options,
        arguments: Arguments,
        conn: Any,
        progress: Progress,
    ) -> list[Enqueued]:
        """One transaction: ours, or the one `conn` is in."""
        if conn is None:
            await self.open()
            lane = self._enqueueing
            assert lane is not None  # noqa: S101 - open() made it
            if self._ids.stale:
                self._ids.measured(await lane.ask_twice(reads.clock_now()))
            asked = Bulk(definition, options, arguments, self._ids)
            async with lane.transaction() as connection:
                stored = await self._copied(connection, asked, progress)
            if asked.wakes and stored:
                with _unharmed():
                    await lane.ask(verbs.wake([asked.queue], len(stored)))
            return stored
        self._ids.measured(await drivers.carry(conn, reads.clock_now()))
        asked = Bulk(definition, options, arguments, self._ids)
        if drivers.kind_of(conn) == ("psycopg", "async"):
            return await self._copied(conn, asked, progress)
        stored = []
        for document in asked.documents():
            stored += await drivers.carry(conn, verbs.enqueue(document))
            progress(len(stored))
        return stored

    async def _copied(self, connection: Any, asked: Bulk, progress: Progress) -> list[Enqueued]:
        columns = asked.columns(self._ids.now())
        steps = asked.steps()
        more = True

        async def chunk() -> AsyncIterator[bytes]:
            nonlocal more
            for _ in range(CHUNK // STEP):
                step = next(steps, None)
                if step is None:
                    more = False
                    return
                yield columns.lines(*step)
                # The lines before these are on their way while the next are made.
                await asyncio.sleep(0)

        while more:
            await copy_jobs(connection, columns, chunk())
            progress(len(asked.ids))
        twins = await drivers.carry(connection, reads.twins(asked.ids)) if asked.keyed else {}
        return [Enqueued(made, twins.get(made)) for made in asked.ids]

    def enqueue_bulk_sync(
        self,
        definition: Definition,
        options: Options,
        arguments: Arguments,
        conn: Any,
        progress: Progress,
    ) -> list[Enqueued]:
        with self._sync_turn:
            connection = self._sync_connection() if conn is None else conn
            self._ids.measured(drivers.carry_sync(connection, reads.clock_now()))
            asked = Bulk(definition, options, arguments, self._ids)
            stored: list[Enqueued] = []
            if drivers.kind_of(connection) == ("psycopg", "sync"):
                with connection.transaction():
                    stored = self._copied_sync(connection, asked, progress)
            else:
                for document in asked.documents():
                    stored += drivers.carry_sync(connection, verbs.enqueue(document))
                    progress(len(stored))
            if conn is None and asked.wakes and stored:
                with _unharmed():
                    run_sync(connection, verbs.wake([asked.queue], len(stored)))
            return stored

    def _copied_sync(self, connection: Any, asked: Bulk, progress: Progress) -> list[Enqueued]:
        columns, steps = asked.columns(self._ids.now()), asked.steps()
        while some := list(islice(steps, CHUNK // STEP)):
            copy_jobs_sync(connection, columns, (columns.lines(*step) for step in some))
            progress(len(asked.ids))
        twins = drivers.carry_sync(connection, reads.twins(asked.ids)) if asked.keyed else {}
        return [Enqueued(made, twins.get(made)) for made in asked.ids]

    # Working, in this very process.

    @asynccontextmanager
    async def worker(self, **pace: Any) -> AsyncIterator[Runner]:
        """A worker inside this process, for tests and web apps.

        One runner, with its heartbeat and the leader's duties in threads. Takes queues,
        concurrency, threads, processes, poll, grace.
        """
        await self.open()
        dsn = self.address.dsn
        said = Pace(**{"queues": tuple(self.queues()), **pace})
        with self._membership(dsn, said) as (runner, loop):
            loop.append(asyncio.get_running_loop())
            running = asyncio.create_task(runner.run())
            try:
                yield runner
            finally:
                runner.stop()
                await running

    @contextmanager
    def _membership(
        self, dsn: str, pace: Pace
    ) -> Iterator[tuple[Runner, list[asyncio.AbstractEventLoop]]]:
        import os  # noqa: PLC0415
        import socket  # noqa: PLC0415

        from leasehold import __version__  # noqa: PLC0415

        with connect.connect_sync(dsn) as connection:
            worker = run_sync(
                connection,
                verbs.enrol(
                    os.getpid(),
                    socket.gethostname(),
                    __version__,
                    list(pace.queues),
                    sorted(self.definitions),
                ),
            )
            number, lease = run_sync(connection, verbs.hire(worker, os.getpid()))
        board = Board(bytearray(Board.size(pace.concurrency)), pace.concurrency)
        runner = Runner(self.definitions, dsn, number, board, pace)
        loop: list[asyncio.AbstractEventLoop] = []
        heartbeat = Heartbeat(
            dsn, worker, lease, lambda: [_Inside(runner, board, loop)] if loop else []
        )
        runner.beat_now = heartbeat.beat_now
        leader = Leader(dsn, worker)
        heartbeat.start()
        leader.start()
        try:
            yield runner, loop
        finally:
            heartbeat.stop()
            leader.stop()
            with connect.connect_sync(dsn) as connection:
                run_sync(connection, verbs.beat(worker, [], runner.report()["tally"]))
                run_sync(connection, verbs.leave(worker))


@contextmanager
def _unharmed() -> Iterator[None]:
    """The jobs are stored: whoever heard that waking failed would enqueue them again.

    A poll finds them.
    """
    try:
        yield
    except (LeaseholdError, connect.Error) as error:
        log.warning("runners could not be woken, they look by themselves: %s", error)


class _Inside:
    """A runner in this process, seen from the heartbeat's thread."""

    def __init__(self, runner: Runner, board: Board, loop: list[asyncio.AbstractEventLoop]) -> None:
        self._runner, self._board, self._loop = runner, board, loop[0]

    def report(self) -> dict[str, Any]:
        return {
            **self._runner.report(),
            "loop_age": self._board.age(),
            "begun": self._board.begun(),
        }

    def hear(self, news: Mapping[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._runner.hear, news)


class Task(Generic[P, R]):
    """A function that can run elsewhere. Calling it calls the function, here and now."""

    def __init__(
        self,
        app: App,
        definition: Definition,
        options: Options | None = None,
        conn: Any = None,
        on_conflict: str = "return",
    ) -> None:
        self.app, self.definition = app, definition
        self._options = options or definition.options
        self._conn, self._on_conflict = conn, on_conflict
        self.__wrapped__ = definition.function
        self.__doc__, self.__name__ = definition.doc, definition.name
        self.__module__ = definition.function.__module__

    def __repr__(self) -> str:
        return f"<Task {self.definition.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        return self.definition.function(*args, **kwargs)

    @property
    def name(self) -> str:
        return self.definition.name

    def using(
        self, *, conn: Any = None, on_conflict: str | None = None, **options: Any
    ) -> "Task[P, R]":
        """The same task with other options, for one or many calls.

        They are conn, key, delay, run_at, priority, queue, tenant, group, tags, timeout, deadline,
        max_attempts, id, headers, hold. `on_conflict="raise"` raises KeyTaken where a live job has
        the key.
        """
        said = Options.checked(**options).over(self._options)
        return Task(
            self.app,
            self.definition,
            said,
            conn if conn is not None else self._conn,
            on_conflict or self._on_conflict,
        )

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Stores a job; with `conn=` in that connection's transaction."""
        return self._handle(await self.app.enqueue_row(self._row(args, kwargs), self._conn))

    def enqueue_sync(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """The same without an event loop."""
        return self._handle(self.app.enqueue_row_sync(self._row(args, kwargs), self._conn))

    async def enqueue_many(
        self,
        arguments: Iterable[Mapping[str, Any]],
        *,
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[Handle[R]]:
        """A job for each mapping of arguments, by COPY.

        All are checked first: a bad one refuses the call before anything is written.
        """
        stored = await self.app.enqueue_bulk(
            self.definition, self._options, arguments, self._conn, progress
        )
        return [self._handle(one) for one in stored]

    def enqueue_many_sync(
        self,
        arguments: Iterable[Mapping[str, Any]],
        *,
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[Handle[R]]:
        stored = self.app.enqueue_bulk_sync(
            self.definition, self._options, arguments, self._conn, progress
        )
        return [self._handle(one) for one in stored]

    def _row(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> accept.Row:
        return accept.row(self.definition, self._options, args, kwargs)

    def _handle(self, stored: Enqueued) -> Handle[R]:
        if stored.duplicate_of is None:
            return Handle(self.app, stored.id)
        if self._on_conflict == "raise":
            raise KeyTaken(self._options.key or "", stored.duplicate_of)
        return Handle(self.app, stored.duplicate_of, duplicate=True)


class _Decorator:
    """What `app.task(...)` with options answers, for type checkers."""

    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...
    def __call__(self, function: Any, /) -> Any:
        raise LeaseholdError(function)
