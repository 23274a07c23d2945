"""Each driver carries a `Call` on one library's connections.

None of those libraries is imported before its user did.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from leasehold.errors import ConnectionUnusable
from leasehold.observe import event
from leasehold.store.call import Call

Kind = Literal["async", "sync"]

# What a connection has, and cursors, engines and pools of the same package have not.
_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    "psycopg": ("transaction",),
    "asyncpg": ("is_closed",),
    "sqlalchemy": ("in_transaction",),
    "django": ("alias",),
}


def kind_of(connection: Any) -> tuple[str, Kind]:
    """Which driver carries calls on this connection, and whether they are awaited."""
    for cls in type(connection).__mro__:
        package = cls.__module__.split(".")[0]
        if package in _MARKS and all(hasattr(connection, mark) for mark in _MARKS[package]):
            awaited = package == "asyncpg" or "async" in cls.__name__.lower()
            return package, "async" if awaited else "sync"
    msg = (
        f"conn= got a {type(connection).__module__}.{type(connection).__qualname__}; it takes a "
        "connection of psycopg or asyncpg, a session or connection of SQLAlchemy, or Django's: "
        "nothing was done"
    )
    raise ConnectionUnusable(msg)


async def carry(connection: Any, call: Call[Any]) -> Any:
    """Runs a call on a connection somebody handed over.

    A sync one blocks the loop for the statement: it is theirs.
    """
    package, kind = kind_of(connection)
    module, began = _driver(package), event.began()
    if kind == "sync":
        answer = module.run_sync(connection, call)
    else:
        answer = await module.run(connection, call)
    if package != "psycopg":  # which tells by itself, ours as well as theirs
        event.tell(call.verb, answer, began)
    return answer


def carry_sync(connection: Any, call: Call[Any]) -> Any:
    package, kind = kind_of(connection)
    if kind == "async":
        msg = (
            f"conn= got an async {package} connection in a call that does not await: "
            "use `await task.enqueue(...)`, or hand over a sync one"
        )
        raise ConnectionUnusable(msg)
    began = event.began()
    answer = _driver(package).run_sync(connection, call)
    if package != "psycopg":
        event.tell(call.verb, answer, began)
    return answer


def _driver(package: str) -> Any:
    """Imported when first needed: whoever has a connection has loaded the library it serves."""
    match package:
        case "psycopg":
            from leasehold.store.drivers import psycopg  # noqa: PLC0415

            return psycopg
        case "asyncpg":
            from leasehold.store.drivers import asyncpg  # noqa: PLC0415

            return asyncpg
        case "sqlalchemy":
            from leasehold.store.drivers import sqlalchemy  # noqa: PLC0415

            return sqlalchemy
        case _:
            from leasehold.store.drivers import django  # noqa: PLC0415

            return django
