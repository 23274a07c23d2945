"""Each driver carries a `Call` on one library's connections. None of those libraries is imported before its user did."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Literal

from leasehold.errors import ConnectionUnusable
from leasehold.store.call import Call

Kind = Literal["async", "sync"]

# The first package in a connection's class tree that stands here tells its driver; "async" in a class name its kind.
_KNOWN = ("sqlalchemy", "django", "asyncpg", "psycopg", "psycopg_pool")


def kind_of(connection: Any) -> tuple[str, Kind]:
    """Which driver carries calls on this connection, and whether they are awaited."""
    for cls in type(connection).__mro__:
        package = cls.__module__.split(".")[0]
        if package in ("psycopg", "sqlalchemy"):
            return package, "async" if "Async" in cls.__name__ or "async_scoped" in cls.__name__ else "sync"
        if package == "asyncpg":
            return package, "async"
        if package == "django" or (cls.__name__ == "ConnectionProxy" and package == "django"):
            return package, "sync"
    msg = (
        f"conn= got a {type(connection).__module__}.{type(connection).__qualname__}; it takes a connection of psycopg or asyncpg, "
        "a session or connection of SQLAlchemy, or Django's: nothing was done"
    )
    raise ConnectionUnusable(msg)


async def carry(connection: Any, call: Call[Any]) -> Any:
    """Runs a call on a connection somebody handed over. A sync one blocks the loop for the statement: it is theirs."""
    package, kind = kind_of(connection)
    module = import_module(f"leasehold.store.drivers.{package}")
    if kind == "sync":
        return module.run_sync(connection, call)
    run: Callable[..., Awaitable[Any]] = module.run
    return await run(connection, call)


def carry_sync(connection: Any, call: Call[Any]) -> Any:
    package, kind = kind_of(connection)
    if kind == "async":
        msg = f"conn= got an async {package} connection in a call that does not await: use `await task.enqueue(...)`, or hand over a sync one"
        raise ConnectionUnusable(msg)
    return import_module(f"leasehold.store.drivers.{package}").run_sync(connection, call)
