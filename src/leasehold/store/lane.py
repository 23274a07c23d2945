"""One connection that a process keeps: opened anew when it breaks, every wait for it bounded."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
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
UNKNOWN: Final = (
    "the database went away before it answered ({}): all of the call is stored or nothing of it; "
    "with key= it may be sent again"
)


class Lane:
    """Calls go one at a time.

    `ask` raises Unreachable at once, `insist` comes back only with an answer.
    """

    def __init__(self, dsn: str, channel: str | None = None, *, hot: bool = False) -> None:
        self.dsn, self.channel, self.hot = dsn, channel, hot
        self._run = run_hot if hot else run
        self._connection: connect.AsyncConnection | None = None
        self._turn = asyncio.Lock()

    async def ask(self, call: Call[T], follower: Call[Any] | None = None) -> T:
        """`follower` goes right behind the call; nobody waits to hear what becomes of it."""
        async with self._turn:
            connection = await self._open()
            # Cut from outside: a driver that is cancelled waits for the silent server too.
            late = asyncio.get_running_loop().call_later(ANSWER, connect.sever, connection)
            try:
                if follower is None:
                    return await self._run(connection, call)
                return await run_followed(connection, call, follower)
            except Unreachable as error:
                await self._drop()
                if late.when() <= asyncio.get_running_loop().time():
                    msg = f"the database did not answer {call.verb} within {ANSWER:g} s"
                    raise Unreachable(msg) from error
                raise
            except asyncio.CancelledError:
                # The answer may still be on its way: this connection can take no other question.
                connect.sever(connection)
                await self._drop()
                raise
            finally:
                late.cancel()

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
                log.warning("%s: waiting for the database (%s)", call.verb, error)
                await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - jitter, so that a fleet does not come back as one
                pause = min(pause * 2, PAUSE_MOST)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[connect.AsyncConnection]:
        """The connection itself, for several statements that commit together."""
        async with self._turn:
            connection = await self._open()
            try:
                async with connection.transaction():
                    yield connection
            except (Unreachable, asyncio.CancelledError):
                connect.sever(connection)
                await self._drop()
                raise
            except connect.Error as error:
                if not connection.closed:
                    raise
                await self._drop()
                raise Unreachable(UNKNOWN.format(error)) from error

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
        await self._drop()

    def cut(self) -> None:
        """`close` for whoever is outside of the event loop it was used on."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connect.cut(connection)

    async def _open(self) -> connect.AsyncConnection:
        if self._connection is None or self._connection.closed:
            connection = await connect.connect(self.dsn, hot=self.hot)
            if self.channel:
                late = asyncio.get_running_loop().call_later(ANSWER, connect.sever, connection)
                try:
                    await connect.listen(connection, self.channel)
                except BaseException as error:
                    await connect.close(connection)
                    if isinstance(error, connect.Error):
                        raise Unreachable(str(error)) from error
                    raise
                finally:
                    late.cancel()
            self._connection = connection
        return self._connection

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.closed:
            await connect.close(connection)
