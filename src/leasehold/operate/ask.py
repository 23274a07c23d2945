"""How this package asks the database: a function that carries a `Call` and returns its answer."""

from typing import Protocol, TypeVar

from leasehold.store.call import Call
from leasehold.store.connect import Connection
from leasehold.store.drivers.psycopg import run_sync

T = TypeVar("T")


class Ask(Protocol):
    def __call__(self, call: Call[T], /) -> T: ...


def on(connection: Connection) -> Ask:
    """Asks on this connection."""

    def ask(call: Call[T], /) -> T:
        return run_sync(connection, call)

    return ask
