"""App and Task: what users hold. Wires the rooms, and holds nothing else."""

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload
from uuid import UUID
from weakref import WeakSet

from leasehold.define import bounds
from leasehold.define.options import Options
from leasehold.define.task import Definition, Run, is_async
from leasehold.enqueue import accept, post
from leasehold.enqueue.bulk import Progress
from leasehold.enqueue.desk import Desk, Desks
from leasehold.enqueue.handle import Handle
from leasehold.enqueue.ids import Ids
from leasehold.enqueue.post import Arguments, PostSync
from leasehold.errors import DefinitionError, JobError, KeyTaken, LeaseholdError, OptionError
from leasehold.inside import Working, work_inside
from leasehold.operate import find
from leasehold.payloads.codec import LIMIT, Codec
from leasehold.payloads.kinds import Custom
from leasehold.runner.run import Pace
from leasehold.store import reads, verbs
from leasehold.store.address import Address
from leasehold.store.call import Call
from leasehold.store.verbs import Enqueued

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


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
        self._desks = Desks(self._ids)
        self._sync = PostSync(self.open_sync, self._ids)
        _apps.add(self)

    # Defining.

    @overload
    def task(  # type: ignore[overload-overlap]  # the first that fits is the one meant
        self, function: Callable[P, Awaitable[R]], /
    ) -> "AsyncTask[P, R]": ...
    @overload
    def task(self, function: Callable[P, R], /) -> "SyncTask[P, R]": ...
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
            if known is not None and _place(known.function) != _place(function):
                raise DefinitionError(
                    definition.name,
                    f"is defined twice, by {_place(known.function)} and {_place(function)}: "
                    "give one a name=",
                )
            self.definitions[definition.name] = definition
            return (AsyncTask if is_async(function) else SyncTask)(self, definition)

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
        try:
            return Handle(self, job if isinstance(job, UUID) else UUID(job))
        except (ValueError, AttributeError, TypeError):
            problem = "takes a job's id, a UUID; by a name or key of your own `find` finds it"
            raise OptionError("job", problem) from None

    async def find(self, said: str) -> "Handle[Any]":
        """The handle of the job with this id, this name (`using(id=…)`) or this key."""
        text = find.checked(said)
        return self._found(text, await self.ask(reads.locate([text])))

    def find_sync(self, said: str) -> "Handle[Any]":
        text = find.checked(said)
        return self._found(text, self.ask_sync(reads.locate([text])))

    def _found(self, text: str, rows: Any) -> "Handle[Any]":
        [found] = find.chosen([text], rows)
        if isinstance(found, JobError):
            raise found
        return Handle(self, found.duplicate_of or found.id)

    # Opening and closing.

    async def open(self) -> None:
        """Happens by itself on first use."""
        await self._desk()

    async def _desk(self) -> Desk:
        """Where the running event loop asks."""
        return self._desks.here() or self._desks.open(await asyncio.to_thread(self.open_sync))

    def open_sync(self) -> str:
        """Finds, and where it is our own starts, the database; answers its address."""
        with self._opening:
            if not self.address.opened:
                self.address.open()
                atexit.register(self.close_sync)
            return self.address.dsn

    async def close(self) -> None:
        """Connections are closed; an embedded server that nobody else uses stops.

        The event loops of other threads keep theirs, where the server does not go.
        """
        try:
            await self._desks.close()
        finally:
            rest = self.close_sync if self.address.embedded else self._close_rest
            await asyncio.to_thread(rest)

    async def leave_loop(self) -> None:
        """For an event loop that ends before the app does: closes what is open on it."""
        await self._desks.close()

    def close_sync(self) -> None:
        """The same for the connections of all event loops, which close them as they turn."""
        self._desks.leave()
        self._close_rest()

    def _close_rest(self) -> None:
        self._desks.sweep()
        with self._opening:
            atexit.unregister(self.close_sync)
            try:
                self._sync.close()
            finally:
                self.address.close()

    def begin_anew(self) -> None:
        """In a forked child: what is open is the parent's, and its threads may hold the locks."""
        self._opening = threading.Lock()
        self._desks, self._sync = Desks(self._ids), PostSync(self.open_sync, self._ids)
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
        return await (await self._desk()).ask(call)

    def ask_sync(self, call: Call[T]) -> T:
        answer: T = self._sync.ask(call)
        return answer

    async def ended(self, job: UUID, timeout: float | None) -> bool:
        return await (await self._desk()).ended(job, timeout)

    def decoded(self, task: str, raw: bytes | None) -> Any:
        if definition := self.definitions.get(task):
            return definition.codec.decode_result(raw)
        return Codec.plain(raw)

    # Enqueueing, for tasks.

    async def enqueue(self, row: accept.Row, conn: Any) -> Enqueued:
        if conn is not None:
            return await post.enqueue_on(conn, row)
        return await (await self._desk()).post.enqueue(row)

    def enqueue_sync(self, row: accept.Row, conn: Any) -> Enqueued:
        return self._sync.enqueue(row) if conn is None else post.enqueue_on_sync(conn, row)

    async def enqueue_many(
        self,
        definition: Definition,
        options: Options,
        arguments: Arguments,
        conn: Any,
        progress: Progress,
    ) -> list[Enqueued]:
        """One transaction: ours, or the one `conn` is in."""
        if conn is not None:
            return await post.enqueue_many_on(conn, definition, options, arguments, progress)
        desk = await self._desk()
        return await desk.post.enqueue_many(definition, options, arguments, progress)

    def enqueue_many_sync(
        self,
        definition: Definition,
        options: Options,
        arguments: Arguments,
        conn: Any,
        progress: Progress,
    ) -> list[Enqueued]:
        if conn is not None:
            return post.enqueue_many_on_sync(conn, definition, options, arguments, progress)
        return self._sync.enqueue_many(definition, options, arguments, progress)

    async def wake(self, *queues: str) -> None:
        """After your own transaction has committed: idle workers look at once, not in a while."""
        await self.ask(verbs.wake(list(queues) or [accept.QUEUE]))

    def wake_sync(self, *queues: str) -> None:
        self.ask_sync(verbs.wake(list(queues) or [accept.QUEUE]))

    # Working, in this very process.

    @asynccontextmanager
    async def worker(self, **pace: Any) -> AsyncIterator[Working]:
        """A worker inside this process, for tests and web apps.

        One runner, with its heartbeat and the leader's duties in threads. Takes queues,
        concurrency, threads, processes, poll, grace.
        """
        from leasehold import __version__  # noqa: PLC0415 - it imports us

        said = Pace.checked(**{"queues": self.queues(), **pace})
        dsn = await asyncio.to_thread(self.open_sync)
        async with work_inside(dsn, self.definitions, said, __version__) as working:
            yield working


_apps: WeakSet[App] = WeakSet()


def _begin_all_anew() -> None:
    for app in list(_apps):
        app.begin_anew()


os.register_at_fork(after_in_child=_begin_all_anew)


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

    def using(self, *, conn: Any = None, on_conflict: str | None = None, **options: Any) -> Self:
        """The same task with other options, for one or many calls.

        They are conn, key, delay, run_at, priority, queue, tenant, group, tags, timeout, deadline,
        max_attempts, id, headers, hold. `on_conflict="raise"` raises KeyTaken where a live job has
        the key.
        """
        said = Options.checked(**options).over(self._options)
        if on_conflict is not None:
            bounds.one_of("on_conflict", on_conflict, ("return", "raise"))
        return type(self)(
            self.app,
            self.definition,
            said,
            conn if conn is not None else self._conn,
            on_conflict or self._on_conflict,
        )

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Stores a job; with `conn=` in that connection's transaction."""
        return self._handle(await self.app.enqueue(self._row(args, kwargs), self._conn))

    def enqueue_sync(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """The same without an event loop."""
        return self._handle(self.app.enqueue_sync(self._row(args, kwargs), self._conn))

    async def enqueue_many(
        self,
        arguments: Iterable[Mapping[str, Any]],
        *,
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[Handle[R]]:
        """A job for each mapping of arguments, by COPY.

        All are checked first: a bad one refuses the call before anything is written.
        """
        stored = await self.app.enqueue_many(
            self.definition, self._options, arguments, self._conn, progress
        )
        return [self._handle(one) for one in stored]

    def enqueue_many_sync(
        self,
        arguments: Iterable[Mapping[str, Any]],
        *,
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[Handle[R]]:
        stored = self.app.enqueue_many_sync(
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


class AsyncTask(Task[P, R]):
    """Its function is async: calling it gives a coroutine."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        called: Coroutine[Any, Any, R] = super().__call__(*args, **kwargs)
        return called


class SyncTask(Task[P, R]):
    """Its function is not: calling it gives the result."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = super().__call__(*args, **kwargs)
        return result


def _place(function: Callable[..., Any]) -> str:
    """The same for a function whose module is loaded anew."""
    return f"{function.__module__}.{getattr(function, '__qualname__', '')}"


class _Decorator:
    """What `app.task(...)` with options answers, for type checkers."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # as above
        self, function: Callable[P, Awaitable[R]], /
    ) -> AsyncTask[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...
    def __call__(self, function: Any, /) -> Any:
        raise LeaseholdError(function)
