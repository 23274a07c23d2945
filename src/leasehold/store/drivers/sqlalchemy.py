"""Carries calls on SQLAlchemy sessions and connections, sync and async, in their transaction."""

from typing import Any, TypeVar

from sqlalchemy.exc import PendingRollbackError, ResourceClosedError

from leasehold.errors import ConnectionUnusable
from leasehold.store.call import Call, statement
from leasehold.store.refusal import explained

T = TypeVar("T")


async def run(session: Any, call: Call[T]) -> T:
    """An AsyncSession or AsyncConnection."""
    try:
        # exec_driver_sql and not the raw connection: SQLAlchemy sends BEGIN with it.
        connection = await session.connection() if _is_session(session) else session
        return call.read((await connection.exec_driver_sql(*_said(connection, call))).all())
    except Exception as error:
        raise _ours(error) from error


def run_sync(session: Any, call: Call[T]) -> T:
    """A Session or Connection."""
    try:
        connection = session.connection() if _is_session(session) else session
        return call.read(connection.exec_driver_sql(*_said(connection, call)).all())
    except Exception as error:
        raise _ours(error) from error


def _is_session(session: Any) -> bool:
    return hasattr(session, "add")


def _said(connection: Any, call: Call[Any]) -> tuple[str, tuple[Any, ...]]:
    return statement(call, "$n" if connection.dialect.driver == "asyncpg" else "%s"), call.arguments


def _ours(error: Exception) -> Exception:
    if isinstance(error, PendingRollbackError):
        return explained("25P02", str(error)) or error
    if isinstance(error, ResourceClosedError) or "permanently closed" in str(error):
        msg = "nothing was done: the connection is closed; hand over an open one"
        return ConnectionUnusable(msg)
    cause = getattr(error, "orig", None)
    state = getattr(cause, "sqlstate", None)
    message = getattr(getattr(cause, "diag", None), "message_primary", None) or str(cause or error)
    return explained(state, message) or error
