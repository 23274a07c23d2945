"""The database a command works on: named, from DATABASE_URL, or the embedded one of this folder."""

import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leasehold.errors import SchemaError, SchemaMissing, SchemaOlder, SettingsError
from leasehold.operate.ask import Ask, on
from leasehold.store import connect, migrate
from leasehold.store.address import Address
from leasehold.store.embedded import default_home
from leasehold.store.refusal import NOT_ALLOWED


@dataclass(frozen=True, slots=True)
class Open:
    connection: connect.Connection
    ask: Ask
    address: Address


@contextmanager
def opened(database: str | None, *, any_schema: bool = False) -> Iterator[Open]:
    """A connection to a database whose schema fits, unless `any_schema`."""
    address = found(database)
    try:
        with connect.connect_sync(address.dsn) as connection:
            if not any_schema:
                check(connection, database)
            yield Open(connection, on(connection), address)
    finally:
        address.close()


@contextmanager
def asking(database: str | None) -> Iterator[Ask]:
    with opened(database) as house:
        yield house.ask


def found(database: str | None) -> Address:
    """Opened. Who only looks makes no new database: that is for `leasehold up` and `App()`."""
    if database is None and not os.environ.get("DATABASE_URL"):
        if not default_home().is_dir():
            msg = (
                "no database: set DATABASE_URL=postgresql://user@host/database, say --database, "
                "or start one in this folder with `leasehold up`"
            )
            raise SettingsError(msg)
        database = str(default_home())
    elif database is not None and not is_address(database) and not Path(database).is_dir():
        msg = (
            f"--database {database!r} is neither an address (postgresql://…) nor a folder that is "
            "there"
        )
        raise SettingsError(msg)
    address = Address(database)
    address.open()
    return address


def is_address(said: str) -> bool:
    return "://" in said or "=" in said


def check(connection: Any, database: str | None) -> None:
    """Raises with the command that helps."""
    try:
        missing = migrate.pending(connection)
    except connect.Error as refusal:
        if refusal.sqlstate == NOT_ALLOWED:
            return  # who only enqueues or runs may not read about migrations; its verbs will tell
        raise
    if not missing:
        return
    names = [script.name for script in missing]
    whole = len(names) == len(migrate.migrations())
    error: SchemaError = SchemaMissing() if whole else SchemaOlder(names)
    if database is not None:
        # What was said here must be said there too; its address may hold a password.
        error.args = (f"{error} (with the same --database)",)
    raise error


def actor() -> str:
    """Who does it, for the audit."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's number without a name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
