"""Installs the schema and brings it up to date.

Numbered migrations once, everything else anew each time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

import psycopg

from leasehold.errors import SchemaNewer

SQL = files("leasehold.store") / "sql"
LOCK = 1279869254

_FRAME = """\
create schema if not exists leasehold;
create table if not exists leasehold.migration (
  number     int         primary key,
  name       text        not null,
  digest     text        not null,
  applied_at timestamptz not null default pg_catalog.clock_timestamp()
);
"""


@dataclass(frozen=True, slots=True)
class Script:
    name: str
    text: str

    @property
    def number(self) -> int:
        return int(self.name.split("_")[0])

    @property
    def digest(self) -> str:
        return sha256(self.text.encode()).hexdigest()


def _scripts(folder: str) -> Iterator[Script]:
    found: list[Traversable] = [
        entry for entry in (SQL / folder).iterdir() if entry.name.endswith(".sql")
    ]
    for entry in sorted(found, key=lambda e: e.name):
        yield Script(entry.name.removesuffix(".sql"), entry.read_text())


def migrations() -> list[Script]:
    return list(_scripts("migrations"))


def code() -> list[Script]:
    """Views and functions; each finds what it needs: views before what selects from them."""
    return [
        script for folder in ("parts", "verbs", "reads", "grants") for script in _scripts(folder)
    ]


def clock() -> list[Script]:
    return list(_scripts("clock"))


def applied(connection: psycopg.Connection[tuple[object, ...]]) -> set[int]:
    """The migrations this database has had; empty where nothing is installed."""
    found = connection.execute("select to_regclass('leasehold.migration') is not null").fetchone()
    if not found or not found[0]:
        return set()
    return {
        int(str(row[0]))
        for row in connection.execute("select number from leasehold.migration").fetchall()
    }


def pending(connection: psycopg.Connection[tuple[object, ...]]) -> list[Script]:
    """What `migrate` would apply; raises where the database is newer than this release."""
    done = applied(connection)
    known = {script.number for script in migrations()}
    if unknown := done - known:
        raise SchemaNewer(max(unknown), max(known))
    return [script for script in migrations() if script.number not in done]


def script() -> str:
    """All of it as text for `psql -f`, where no program may change the schema by itself."""
    parts = [_FRAME, "set check_function_bodies = off;\n", *(s.text for s in clock())]
    for migration in migrations():
        parts += [migration.text, _record(migration)]
    parts += [s.text for s in code()]
    parts += ["reset check_function_bodies;\nselect * from leasehold.partition();\n"]
    return "\n".join(parts)


def _record(migration: Script) -> str:
    values = f"{migration.number}, '{migration.name}', '{migration.digest}'"
    return f"insert into leasehold.migration (number, name, digest) values ({values});\n"  # noqa: S608


def migrate(connection: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    """Brings the schema to this release in one transaction.

    Safe beside running workers and beside another migrate.
    """
    with connection.transaction():
        connection.execute("select pg_catalog.pg_advisory_xact_lock(%s)", (LOCK,))
        connection.execute("set local search_path = pg_catalog")
        connection.execute("set local client_min_messages = warning")
        connection.execute("set local check_function_bodies = off")
        todo = pending(connection)
        connection.execute(_FRAME.encode())
        for piece in clock():
            connection.execute(piece.text.encode())
        for migration in todo:
            connection.execute(migration.text.encode())
            connection.execute(_record(migration).encode())
        for piece in code():
            connection.execute(piece.text.encode())
    connection.execute("select * from leasehold.partition()")
    return [migration.name for migration in todo]
