"""Carries calls on psycopg connections: ours everywhere, and those that users hand over."""

import logging
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg

from leasehold.errors import ConnectionUnusable, LeaseholdError, Unreachable
from leasehold.observe import event
from leasehold.store.call import Call, statement
from leasehold.store.refusal import explained

log = logging.getLogger("leasehold.store")
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


async def run_followed(
    connection: psycopg.AsyncConnection[Any], call: Call[T], follower: Call[Any]
) -> T:
    """Sends `follower` right behind the call, in a transaction of its own and no round trip more.

    What becomes of it is logged: whoever heard that it failed would take the call for undone.
    """
    began = event.began()
    cursor = psycopg.AsyncCursor(connection, row_factory=psycopg.rows.tuple_row)
    try:
        async with connection.pipeline() as pipeline:
            await cursor.execute(statement(call, "%s").encode(), call.arguments)
            await pipeline.sync()
            await connection.execute(statement(follower, "%s").encode(), follower.arguments)
    except psycopg.Error as error:
        if cursor.pgresult is None:
            raise ours(error, connection.closed) from error
        log.warning("%s went well, %s behind it did not: %s", call.verb, follower.verb, error)
    answer = call.read(await cursor.fetchall())
    event.tell(call.verb, answer, began)
    return answer


def run_followed_sync(connection: psycopg.Connection[Any], call: Call[T], follower: Call[Any]) -> T:
    """The same for whoever has no event loop."""
    began = event.began()
    cursor = psycopg.Cursor(connection, row_factory=psycopg.rows.tuple_row)
    try:
        with connection.pipeline() as pipeline:
            cursor.execute(statement(call, "%s").encode(), call.arguments)
            pipeline.sync()
            connection.execute(statement(follower, "%s").encode(), follower.arguments)
    except psycopg.Error as error:
        if cursor.pgresult is None:
            raise ours(error, connection.closed) from error
        log.warning("%s went well, %s behind it did not: %s", call.verb, follower.verb, error)
    answer = call.read(cursor.fetchall())
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
