"""Carries calls on Django's connections, in the atomic block they are in."""

from typing import Any, TypeVar

from django.db import transaction  # type: ignore[import-untyped]

from leasehold.errors import ConnectionUnusable
from leasehold.store.call import Call, statement
from leasehold.store.refusal import explained

T = TypeVar("T")


def run_sync(connection: Any, call: Call[T]) -> T:
    """`django.db.connection`, or one of `django.db.connections`."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement(call, "%s"), call.arguments)
            return call.read(cursor.fetchall())
    except Exception as error:
        if isinstance(error, transaction.TransactionManagementError):
            raise explained("25P02", str(error)) or error from error
        if connection.connection is not None and connection.connection.closed:
            msg = "nothing was done: the connection is closed; hand over an open one"
            raise ConnectionUnusable(msg) from error
        cause = error.__cause__
        message = getattr(getattr(cause, "diag", None), "message_primary", None) or str(error)
        if ours := explained(getattr(cause, "sqlstate", None), message):
            raise ours from error
        raise
