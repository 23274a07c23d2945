"""COPY into leasehold.job: the fastest enqueue there is. Only psycopg connections can."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec
import psycopg

from leasehold.store.connect import AsyncConnection, Connection
from leasehold.store.drivers.psycopg import _ours

COLUMNS: Final = (
    "id", "task", "payload", "queue", "priority", "run_at", "delay", "deadline", "timeout", "max_attempts",
    "name", "key", "tenant", "group", "tags", "headers", "hold",
)  # fmt: skip
_DEFAULTS: Final = {"queue": "default", "priority": 100}


def _statement(columns: tuple[str, ...]) -> bytes:
    return f"copy leasehold.job ({', '.join(chr(34) + column + chr(34) for column in columns)}) from stdin".encode()


def _used(rows: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """Only columns that some row fills travel, and those that have a default are filled for all."""
    said = {column for row in rows for column in row}
    return tuple(column for column in COLUMNS if column in said)


def _lines(columns: tuple[str, ...], rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        yield tuple(_value(column, row.get(column, _DEFAULTS.get(column))) for column in columns)


def _value(column: str, value: Any) -> Any:
    match column:
        case "payload":
            return bytes(value).decode()
        case "delay" if value is not None:
            return timedelta(seconds=value)
        case "headers" if value is not None:
            return msgspec.json.encode(value).decode()
        case "tags" if value is not None:
            return list(value)
        case _:
            return value


async def copy_jobs(connection: AsyncConnection, rows: list[Mapping[str, Any]]) -> None:
    """In the transaction the connection is in; the ids are in the rows."""
    columns = _used(rows)
    try:
        async with connection.cursor().copy(_statement(columns)) as copy:
            for line in _lines(columns, rows):
                await copy.write_row(line)
    except psycopg.Error as error:
        raise _ours(error, connection.closed) from error


def copy_jobs_sync(connection: Connection, rows: list[Mapping[str, Any]]) -> None:
    columns = _used(rows)
    try:
        with connection.cursor().copy(_statement(columns)) as copy:
            for line in _lines(columns, rows):
                copy.write_row(line)
    except psycopg.Error as error:
        raise _ours(error, connection.closed) from error
