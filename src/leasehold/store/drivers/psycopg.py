"""Carries calls on psycopg connections: ours everywhere, and those that users hand over."""

from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg

from leasehold.errors import ConnectionUnusable, LeaseholdError, Unreachable
from leasehold.observe import event
from leasehold.store.call import Call, statement
from leasehold.store.refusal import explained

T = TypeVar("T")


def translated(error: psycopg.Error) -> LeaseholdError | None:
    if found := explained(
        error.sqlstate, error.diag.message_primary or str(error), error.diag.message_hint
    ):
        return found
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return Unreachable(str(error).strip())
    return None


async def run(connection: psycopg.AsyncConnection[Any], call: Call[T]) -> T:
    """Sends the call, reads the answer."""
    began = event.began()
    try:
        cursor = psycopg.AsyncCursor(connection, row_factory=psycopg.rows.tuple_row)
        answer = call.read(
            await (await cursor.execute(statement(call, "%s").encode(), call.arguments)).fetchall()
        )
    except psycopg.Error as error:
        raise ours(error, connection.closed) from error
    event.tell(call.verb, answer, began)
    return answer


def run_sync(connection: psycopg.Connection[Any], call: Call[T]) -> T:
    """The same for whoever has no event loop."""
    began = event.began()
    try:
        cursor = psycopg.Cursor(connection, row_factory=psycopg.rows.tuple_row)
        answer = call.read(
            cursor.execute(statement(call, "%s").encode(), call.arguments).fetchall()
        )
    except psycopg.Error as error:
        raise ours(error, connection.closed) from error
    event.tell(call.verb, answer, began)
    return answer


def ours(error: psycopg.Error, closed: bool) -> Exception:
    if (
        closed
        and not isinstance(error, pg.AdminShutdown | pg.CrashShutdown)
        and "the connection is closed" in str(error)
    ):
        return ConnectionUnusable(
            "nothing was done: the connection is closed; hand over an open one"
        )
    return translated(error) or error


async def run_hot(connection: psycopg.AsyncConnection[Any], call: Call[T]) -> T:
    """For a runner's own connection: answers come in binary, so ids and payloads are bytes."""
    began = event.began()
    try:
        cursor = psycopg.AsyncCursor(connection, row_factory=psycopg.rows.tuple_row)
        answer = call.read(
            await (
                await cursor.execute(statement(call, "%s").encode(), call.arguments, binary=True)
            ).fetchall()
        )
    except psycopg.Error as error:
        raise ours(error, connection.closed) from error
    event.tell(call.verb, answer, began)
    return answer
