"""Each kind of connection a user may hand over, with the same few words for what a test does."""

import inspect
import json
from contextlib import suppress
from typing import Any

import asyncpg
import django
import psycopg
import sqlalchemy as sa
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import orm
from sqlalchemy.ext import asyncio as saio


async def done(answer):
    return await answer if inspect.isawaitable(answer) else answer


class Way:
    """`conn` is what goes into `using(conn=…)`; using it opens a transaction."""

    awaited = True
    can_be_closed = True

    def __init__(self, dsn: str):
        self.dsn = dsn
        self.conn: Any = None

    async def open(self) -> None:
        raise NotImplementedError

    async def enqueue(self, task, *args, on_conflict=None, **options):
        bound = task.using(conn=self.conn, on_conflict=on_conflict, **options)
        return await done(bound.enqueue(*args) if self.awaited else bound.enqueue_sync(*args))

    async def enqueue_many(self, task, arguments):
        bound = task.using(conn=self.conn)
        many = bound.enqueue_many if self.awaited else bound.enqueue_many_sync
        return await done(many(arguments))

    async def do(self, sql: str) -> None:
        await done(self.conn.execute(sql))

    async def commit(self) -> None:
        await done(self.conn.commit())

    async def rollback(self) -> None:
        await done(self.conn.rollback())

    async def close(self) -> None:
        await done(self.conn.close())


class PsycopgAsync(Way):
    async def open(self):
        self.conn = await psycopg.AsyncConnection.connect(self.dsn)


class PsycopgSync(Way):
    awaited = False

    async def open(self):
        self.conn = psycopg.connect(self.dsn)


class Asyncpg(Way):
    async def open(self):
        said = conninfo_to_dict(self.dsn)
        self.conn = await asyncpg.connect(
            host=said["host"],
            port=int(said["port"]),
            user=said["user"],
            password=said["password"],
            database=said["dbname"],
        )
        self._transaction = self.conn.transaction()
        await self._transaction.start()

    async def commit(self):
        await self._transaction.commit()

    async def rollback(self):
        await self._transaction.rollback()

    async def close(self):
        await self.conn.close(timeout=5)


class AsyncpgWithJson(Asyncpg):
    """Most applications on asyncpg teach it JSON, and then a jsonb argument is a Python value."""

    async def open(self):
        await super().open()
        await self.conn.set_type_codec(
            "jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
        )


def engine_url(dsn: str, driver: str) -> sa.URL:
    said = conninfo_to_dict(dsn)
    return sa.URL.create(
        f"postgresql+{driver}",
        username=str(said["user"]),
        password=str(said["password"]),
        database=str(said["dbname"]),
        query={"host": str(said["host"]), "port": str(said["port"])}
        if driver == "psycopg"
        else {"host": str(said["host"])},
    )


class SqlAlchemy(Way):
    driver = "psycopg"

    async def do(self, sql):
        await done(self.conn.execute(sa.text(sql)))

    async def close(self):
        await done(self.conn.close())
        await done(self.engine.dispose())


class SyncSession(SqlAlchemy):
    awaited = can_be_closed = False

    async def open(self):
        self.engine = sa.create_engine(engine_url(self.dsn, self.driver))
        self.conn = orm.Session(self.engine)


class SyncConnection(SyncSession):
    can_be_closed = True

    async def open(self):
        await super().open()
        self.conn = self.engine.connect()


class AsyncSession(SqlAlchemy):
    can_be_closed = False

    async def open(self):
        self.engine = saio.create_async_engine(engine_url(self.dsn, self.driver))
        self.conn = saio.AsyncSession(self.engine)


class AsyncSessionOnAsyncpg(AsyncSession):
    driver = "asyncpg"


class AsyncConnection(AsyncSession):
    can_be_closed = True

    async def open(self):
        await super().open()
        self.conn = await self.engine.connect()


class AsyncConnectionOnAsyncpg(AsyncConnection):
    driver = "asyncpg"


class Django(Way):
    """`django.db.connection`; settings are made once a process, the database is each test's."""

    awaited = False

    async def open(self):
        self.conn = use_django(self.dsn)
        self.conn.set_autocommit(False)

    async def do(self, sql):
        with self.conn.cursor() as cursor:
            cursor.execute(sql)

    async def close(self):
        if self.conn.connection is not None:
            with suppress(Exception):
                self.conn.rollback()
        self.conn.close()

    async def cut(self):
        self.conn.ensure_connection()
        self.conn.connection.close()


def use_django(dsn: str) -> Any:
    """`django.db.connection`, for this database from now on."""
    if not settings.configured:
        default = {"ENGINE": "django.db.backends.postgresql", "NAME": "of each test"}
        settings.configure(DATABASES={"default": default}, INSTALLED_APPS=[], USE_TZ=True)
        django.setup()
    from django.db import connection, connections  # noqa: PLC0415 - wants the settings

    said = conninfo_to_dict(dsn)
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host"}
    connections["default"].settings_dict.update({name: said[key] for name, key in names.items()})
    return connection


WAYS = (
    PsycopgAsync,
    PsycopgSync,
    Asyncpg,
    AsyncpgWithJson,
    AsyncSession,
    AsyncSessionOnAsyncpg,
    AsyncConnection,
    AsyncConnectionOnAsyncpg,
    SyncSession,
    SyncConnection,
    Django,
)


async def closed(way: Way) -> None:
    """As a pool, a server or a bug in the application leaves it."""
    if isinstance(way, Django):
        await way.cut()
    elif isinstance(way, SqlAlchemy):
        await done(way.conn.close())
    else:
        await way.close()
