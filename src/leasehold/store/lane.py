"""One connection that a process keeps: opened anew when it breaks, every wait for it bounded."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from leasehold.errors import Unreachable
from leasehold.store import connect
from leasehold.store.call import Call
from leasehold.store.drivers.psycopg import run, run_followed, run_hot

log = logging.getLogger("leasehold.store")
T = TypeVar("T")

ANSWER: Final = 30.0  # seconds; a server that is silent longer is taken for gone
PAUSE_MOST: Final = 10.0
CLOSED: Final = "what asked here was closed meanwhile: nothing was sent"
UNKNOWN: Final = (
    "the database went away before it answered ({}): all of the call is stored or nothing of it; "
    "with key= it may be sent again"
)


class Silence:
    """Cuts a connection from outside once its server was silent for ANSWER seconds.

    A driver that is cancelled waits for the silent server too.
    """

    def __init__(self, connection: connect.AsyncConnection) -> None:
        self._connection, self._loop = connection, asyncio.get_running_loop()
        self._late = self._loop.call_later(ANSWER, connect.sever, connection)

    @property
    def over(self) -> bool:
        return self._late.when() <= self._loop.time()

    def count_anew(self) -> None:
        """The server has shown that it lives, or it was not its turn."""
        self._late.cancel()
        self._late = self._loop.call_later(ANSWER, connect.sever, self._connection)

    def end(self) -> None:
        self._late.cancel()


class Lane:
    """Calls go one at a time; a `hot` lane is a runner's, and takes no followers.

    `ask` raises Unreachable at once, `insist` comes back only with an answer.
    """

    def __init__(self, dsn: str, channel: str | None = None, *, hot: bool = False) -> None:
        self.dsn, self.channel, self.hot = dsn, channel, hot
        self._connection: connect.AsyncConnection | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    async def ask(self, call: Call[T], follower: Call[Any] | None = None) -> T:
        """`follower` goes right behind the call; nobody waits to hear what becomes of it."""
        async with self._turn:
            connection = await self._open()
            silence = Silence(connection)
            try:
                if self.hot:
                    return await _at_once(connection, run_hot(connection, call))
                if follower is None:
                    return await run(connection, call)
                return await run_followed(connection, call, follower)
            except Unreachable as error:
                await self._drop()
                if silence.over:
                    msg = f"the database did not answer {call.verb} within {ANSWER:g} s"
                    raise Unreachable(msg) from error
                raise
            except asyncio.CancelledError:
                # The answer may still be on its way: this connection can take no other question.
                connect.sever(connection)
                await self._drop()
                raise
            finally:
                silence.end()

    async def ask_twice(self, call: Call[T], follower: Call[Any] | None = None) -> T:
        """For what may be asked again: a kept connection often turns out broken at its next use."""
        try:
            return await self.ask(call, follower)
        except Unreachable:
            return await self.ask(call, follower)

    async def insist(self, call: Call[T]) -> T:
        pause = 0.1
        while True:
            try:
                return await self.ask(call)
            except Unreachable as error:
                if self._closed:
                    raise
                log.warning("%s: waiting for the database (%s)", call.verb, error)
                await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - jitter, so that a fleet does not come back as one
                pause = min(pause * 2, PAUSE_MOST)

    @asynccontextmanager
    async def transaction(
        self,
    ) -> AsyncIterator[tuple[connect.AsyncConnection, Callable[[], None]]]:
        """The connection itself, for several statements that commit together.

        However long they take, the server may be silent for ANSWER seconds: what is yielded beside
        the connection is called whenever it has shown that it lives.
        """
        async with self._turn:
            connection = await self._open()
            silence = Silence(connection)
            try:
                async with connection.transaction():
                    yield connection, silence.count_anew
                    silence.count_anew()
            except asyncio.CancelledError:
                connect.sever(connection)
                await self._drop()
                raise
            except (Unreachable, connect.Error) as error:
                if isinstance(error, connect.Error) and not connection.closed:
                    raise
                connect.sever(connection)
                await self._drop()
                why = f"it was silent for {ANSWER:g} s" if silence.over else error
                raise Unreachable(UNKNOWN.format(why)) from error
            finally:
                silence.end()

    async def ready(self) -> None:
        """Connected, and listening where it listens."""
        if self._connection is None or self._connection.closed:
            async with self._turn:
                await self._open()

    async def heard(self, timeout: float) -> list[str]:
        """News on this lane's channel; an empty list when there was none in time."""
        async with self._turn:
            connection = await self._open()
            try:
                return await connect.heard(connection, timeout)
            except connect.Error as error:
                await self._drop()
                raise Unreachable(str(error)) from error

    async def close(self) -> None:
        """For good. What is being asked is broken off; whoever asks it clears up behind himself."""
        self._closed = True
        if self._turn.locked() and self._connection is not None:
            connect.sever(self._connection)
        else:
            await self._drop()

    def forget(self) -> None:
        """The event loop it belonged to is gone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connect.drop(connection)

    async def _open(self) -> connect.AsyncConnection:
        if self._connection is None or self._connection.closed:
            self._connection = None if self._closed else await self._opened()
        if self._connection is None or self._closed:
            await self._drop()
            raise Unreachable(CLOSED)
        return self._connection

    async def _opened(self) -> connect.AsyncConnection:
        connection = await connect.connect(self.dsn, hot=self.hot)
        if self.channel:
            try:
                await connect.listen(connection, self.channel)
            except connect.Error as error:
                raise Unreachable(str(error)) from error
        return connection

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.closed:
            await connect.close(connection)


async def _at_once(connection: connect.AsyncConnection, asking: Coroutine[Any, Any, T]) -> T:
    """Ends as soon as it is cancelled, so that a runner stops in its time.

    A driver that is cancelled asks the server to cancel too, and gives a silent one ten seconds.
    """
    asked = asyncio.ensure_future(asking)
    try:
        return await asyncio.shield(asked)
    except asyncio.CancelledError:
        connect.sever(connection)
        await asyncio.gather(asked, return_exceptions=True)
        raise
