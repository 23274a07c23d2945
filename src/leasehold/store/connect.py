"""Opens connections: what we ask of every one, and how a runner's reads and writes faster."""

import asyncio
import contextlib
import os
import struct
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID
from weakref import WeakSet

import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format

from leasehold.errors import Unreachable
from leasehold.store.watchdog import sever as sever  # noqa: PLC0414 - part of what is had here
from leasehold.store.watchdog import watchdog

AsyncConnection = psycopg.AsyncConnection[Any]
Connection = psycopg.Connection[Any]
Query = bytes | psycopg.sql.Composed

# A peer that vanished is noticed within about 20 s, and nobody waits for a connect longer than 10.
_SETTINGS: Final = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
    "tcp_user_timeout": "20000",
    "fallback_application_name": "leasehold",
}
# Seconds; connect_timeout ends with the login, and a pooler that pauses logs in and is silent then.
SILENT: Final = 10.0
# Verbs are single statements: each sees what was committed before it, whatever the database's
# default is.
_SESSION: Final = b"set default_transaction_isolation = 'read committed'"


async def connect(dsn: str, *, hot: bool = False) -> AsyncConnection:
    """In autocommit; `hot` ones hand ids and JSON over as bytes and prepare every statement."""
    try:
        connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True, **_SETTINGS)  # type: ignore[arg-type]
        _open.add(connection)
        await _settled(connection, _SESSION)
    except psycopg.OperationalError as error:
        raise _unreachable(error) from error
    connection.adapters.register_loader("jsonb", _DocumentTextLoader)
    if hot:
        connection.prepare_threshold = 0
        _register(connection)
    return connection


async def _settled(connection: AsyncConnection, first: Query) -> None:
    """What is said first, within its bound; where it fails nobody else would close."""
    late = asyncio.get_running_loop().call_later(SILENT, sever, connection)
    try:
        await connection.execute(first)
    except BaseException:
        drop(connection)
        raise
    finally:
        late.cancel()


def connect_sync(dsn: str, *, timeout: float | None = None) -> Connection:
    """The same for threads; `timeout` seconds bound each statement on the server."""
    try:
        connection = psycopg.connect(dsn, autocommit=True, **_SETTINGS)  # type: ignore[arg-type]
        _open.add(connection)
        try:
            with watchdog.guard(connection, SILENT):
                connection.execute(_SESSION)
                if timeout is not None:
                    connection.execute(f"set statement_timeout = {int(timeout * 1000)}".encode())
        except BaseException:
            connection.close()
            raise
    except psycopg.OperationalError as error:
        raise _unreachable(error) from error
    return connection


def _unreachable(error: psycopg.OperationalError) -> Unreachable:
    return Unreachable(
        f"the database does not answer: {str(error).strip()}; "
        "check DATABASE_URL and that the server runs"
    )


def drop(connection: AsyncConnection | Connection) -> None:
    """Closes it where no event loop is left to await that."""
    connection.pgconn.finish()


_open: WeakSet[AsyncConnection | Connection] = WeakSet()
_inherited: list[AsyncConnection | Connection] = []


def _disown() -> None:
    """In a forked child: takes its ends off the parent's wires, and says nothing on them.

    Closing would tell the server goodbye in the parent's name. They are kept because a thread of
    the parent may have been in the middle of using one: nothing of it can be freed here.
    """
    _inherited.extend(_open)
    _open.clear()
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for connection in _inherited:
        with contextlib.suppress(OSError, psycopg.Error):  # it was closed already
            os.dup2(nothing, connection.fileno(), inheritable=False)
    os.close(nothing)


os.register_at_fork(after_in_child=_disown)


async def heard(connection: AsyncConnection, timeout: float) -> list[str]:
    """Waits for news on this connection's channels; answers payloads, none when time ran out."""
    return [notice.payload async for notice in connection.notifies(timeout=timeout, stop_after=1)]


async def listen(connection: AsyncConnection, channel: str) -> None:
    """Closes it where it cannot."""
    name = psycopg.sql.Identifier(channel)
    await _settled(connection, psycopg.sql.SQL("listen {}").format(name))


class Ids:
    """Job ids as 16 bytes each, sent as uuid[]."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[bytes]) -> None:
        self.values = values


class Numbers:
    """Small integers, sent as int[]."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[int]) -> None:
        self.values = values


class Documents:
    """JSON texts or None, sent as jsonb[]."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[bytes | None]) -> None:
        self.values = values


def _array(element: int, has_null: int, count: int) -> bytes:
    return struct.pack("!iiIii", 1, has_null, element, count, 1)


class _IdsDumper(Dumper):
    format = Format.BINARY
    oid = 2951

    def dump(self, obj: Ids) -> bytes:
        return _array(2950, 0, len(obj.values)) + b"".join(
            [b"\0\0\0\x10" + value for value in obj.values]
        )


class _NumbersDumper(Dumper):
    format = Format.BINARY
    oid = 1007

    def dump(self, obj: Numbers) -> bytes:
        return _array(23, 0, len(obj.values)) + b"".join(
            [b"\0\0\0\x04" + value.to_bytes(4, "big") for value in obj.values]
        )


class _DocumentsDumper(Dumper):
    format = Format.BINARY
    oid = 3807

    def dump(self, obj: Documents) -> bytes:
        parts = [
            b"\xff\xff\xff\xff"
            if value is None
            else (len(value) + 1).to_bytes(4, "big") + b"\x01" + value
            for value in obj.values
        ]
        return _array(3802, 1, len(parts)) + b"".join(parts)


class _IdLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


class _DocumentLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data[1:])  # the first byte is the version of jsonb's own format


class _DocumentTextLoader(Loader):
    """JSON stays text until somebody who knows its type decodes it."""

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


class _MicrosecondsLoader(Loader):
    """Times as microseconds since 2000.

    A datetime costs a microsecond to make, and a claim needs differences only.
    """

    format = Format.BINARY

    def load(self, data: Buffer) -> int:
        return int.from_bytes(data, "big", signed=True)


def _register(connection: AsyncConnection) -> None:
    for oid, loader in (
        ("uuid", _IdLoader),
        ("jsonb", _DocumentLoader),
        ("timestamptz", _MicrosecondsLoader),
    ):
        connection.adapters.register_loader(oid, loader)
    for cls, dumper in (
        (Ids, _IdsDumper),
        (Numbers, _NumbersDumper),
        (Documents, _DocumentsDumper),
    ):
        connection.adapters.register_dumper(cls, dumper)


async def close(connection: AsyncConnection) -> None:
    """Politely, but not for longer than a second."""
    try:
        async with asyncio.timeout(1):
            await connection.close()
    except TimeoutError:
        sever(connection)


Error = psycopg.Error


def is_about_data(error: Exception) -> bool:
    """What was sent can never be stored: a bad value, a broken rule, a limit of the server's."""
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    return state is not None and state[:2] in ("22", "23", "54")


def id_text(job: Any) -> str:
    return str(UUID(bytes=bytes(job))) if isinstance(job, bytes | memoryview) else str(job)
