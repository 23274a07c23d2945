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


# Its first error undoes what came before it, and what follows is refused until the end.
_BEGIN = f"""\
-- psql -v ON_ERROR_STOP=1 -f THIS_FILE: installs the schema of Leasehold, or brings it up to date.
begin;
select pg_catalog.pg_advisory_xact_lock({LOCK});
set local search_path = pg_catalog;
set local client_min_messages = warning;
set local check_function_bodies = off;
"""
_NEWER = """\
do $newer$ begin
  if exists (select from leasehold.migration m where m.number > {newest}) then
    raise exception 'the schema is at migration %, this script knows {newest}: nothing was done',
      (select max(m.number) from leasehold.migration m);
  end if;
end $newer$;
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
    """What `migrate` does, as text for `psql -f`: all of it or nothing, on any database.

    No program may change the schema by itself in some houses.
    """
    newest = max(migration.number for migration in migrations())
    parts = [_BEGIN, _FRAME, _NEWER.format(newest=newest), *(s.text for s in clock())]
    parts += [_once(migration) for migration in migrations()]
    parts += [s.text for s in code()]
    parts += ["commit;\nselect * from leasehold.partition();\n"]
    return "\n".join(parts)


def _once(migration: Script) -> str:
    """It runs where it has not run before."""
    return f"""\
do $once$ begin
  if not exists (select from leasehold.migration m where m.number = {migration.number}) then
    execute $migration$
{migration.text}
$migration$;
    {_record(migration).strip()}
  end if;
end $once$;
"""


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
