"""COPY into leasehold.job: the fastest enqueue there is. Only psycopg connections can."""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql

from leasehold.store.connect import AsyncConnection, Connection
from leasehold.store.drivers.psycopg import ours

_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one COPY: id and payload differ by line, the rest is the same text behind."""

    statement: sql.Composed
    tail: bytes

    @classmethod
    def of(cls, template: Mapping[str, Any], now: int) -> "Columns":
        """`now`, in microseconds since 1970, is where a deadline that is a duration counts from."""
        fixed = dict(template)
        if (within := fixed.pop("deadline_in", None)) is not None:
            fixed["deadline"] = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
                microseconds=now, seconds=within
            )
        names = sql.SQL(", ").join(sql.Identifier(name) for name in ("id", "payload", *fixed))
        tail = "".join(f"\t{_text(name, value)}" for name, value in fixed.items())
        return cls(
            sql.SQL("copy leasehold.job ({}) from stdin").format(names), tail.encode() + b"\n"
        )

    def lines(self, ids: Iterable[UUID], payloads: Iterable[bytes]) -> bytes:
        tail = self.tail
        return b"".join([
            b"%032x\t%b%b"
            % (job.int, payload if b"\\" not in payload else payload.replace(b"\\", b"\\\\"), tail)
            for job, payload in zip(ids, payloads, strict=True)
        ])  # fmt: skip


def _text(column: str, value: Any) -> str:
    match column, value:
        case "delay", float() | int():
            plain = f"{value} seconds"
        case "headers", _:
            plain = msgspec.json.encode(value).decode()
        case "tags", _:
            # The array's own quoting first, COPY's around it.
            inner = ",".join(
                '"' + tag.replace("\\", "\\\\").replace('"', '\\"') + '"' for tag in value
            )
            plain = "{" + inner + "}"
        case _, datetime():
            plain = value.isoformat()
        case _:
            plain = str(value)
    return plain.translate(_ESCAPES)


async def copy_jobs(
    connection: AsyncConnection, columns: Columns, lines: AsyncIterator[bytes]
) -> None:
    """In the transaction the connection is in."""
    try:
        async with connection.cursor().copy(columns.statement) as copy:
            async for some in lines:
                await copy.write(some)
    except psycopg.Error as error:
        raise ours(error, connection.closed) from error


def copy_jobs_sync(connection: Connection, columns: Columns, lines: Iterable[bytes]) -> None:
    try:
        with connection.cursor().copy(columns.statement) as copy:
            for some in lines:
                copy.write(some)
    except psycopg.Error as error:
        raise ours(error, connection.closed) from error
