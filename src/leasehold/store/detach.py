"""Takes a day's table out of its parent without making anybody wait, and drops it."""

from collections.abc import Sequence

from psycopg import errors as pg
from psycopg import sql

from leasehold.store.connect import Connection


def detach(connection: Connection, parent: str, table: str) -> bool:
    """False when somebody is in the way: nothing changed, or a later call finishes what began."""
    pending = connection.execute(
        "select i.inhdetachpending from pg_catalog.pg_inherits i"
        " where i.inhrelid = to_regclass('leasehold.' || %s)",
        (table,),
    ).fetchone()
    if pending is None:
        return True
    how = sql.SQL("finalize") if pending[0] else sql.SQL("concurrently")
    try:
        connection.execute("set lock_timeout = '2s'")
        connection.execute(
            sql.SQL("alter table leasehold.{} detach partition leasehold.{} {}").format(
                sql.Identifier(parent), sql.Identifier(table), how
            )
        )
    except (pg.LockNotAvailable, pg.QueryCanceled, pg.ObjectNotInPrerequisiteState):
        return False
    finally:
        connection.execute("reset lock_timeout")
    return True


def drop(connection: Connection, tables: Sequence[str]) -> None:
    for table in tables:
        connection.execute(
            sql.SQL("drop table if exists leasehold.{}").format(sql.Identifier(table))
        )
