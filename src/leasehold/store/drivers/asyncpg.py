"""Carries calls on asyncpg connections that users hand over."""

from typing import Any, TypeVar

from leasehold.errors import ConnectionUnusable
from leasehold.store.call import Call, statement
from leasehold.store.refusal import explained

T = TypeVar("T")


async def run(connection: Any, call: Call[T]) -> T:
    """Inside whatever transaction the connection is in."""
    if connection.is_closed():
        msg = "nothing was done: the connection is closed; hand over an open one"
        raise ConnectionUnusable(msg)
    try:
        return call.read(await connection.fetch(statement(call, "$n"), *call.arguments))
    except Exception as error:
        if ours := explained(
            getattr(error, "sqlstate", None), str(error), getattr(error, "hint", None)
        ):
            raise ours from error
        raise
