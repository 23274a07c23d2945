"""Throw-away databases: one server a test run, one migrated template, copied within 30 ms.

The server is the embedded one, in a folder of the run below the temporary folder;
LEASEHOLD_TEST_BIN names the programs of another version. The processes of a run (pytest-xdist)
share it: the last one to leave removes it, and what a killed run left goes with the next.
"""

import fcntl
import os
import shutil
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from leasehold.store.connect import Connection, connect_sync
from leasehold.store.embedded import Server
from leasehold.store.migrate import LOCK, migrate, script

SETTINGS = {"max_prepared_transactions": "20", "max_connections": "300", "autovacuum": "off"}
# The server refuses to be started with these; a throw-away database need not outlive its machine.
UNSAFE = ("fsync", "full_page_writes")
DAYS = 2  # made ahead in the template: each day is eleven files to copy


class Databases:
    """`with Databases() as databases: dsn = databases.make()`."""

    def __init__(self) -> None:
        self._folder = folder_of_this_run()
        self._numbers = count(1)
        self._left: list[str] = []
        self._copier = ThreadPoolExecutor(1)
        self._next: Future[str] | None = None
        self._server: Server | None = None
        self._admin: Connection | None = None
        self._use = -1
        self._template = ""

    def __enter__(self) -> Self:
        sweep(self._folder)
        self._use = take_part(self._folder)
        named = os.environ.get("LEASEHOLD_TEST_BIN")
        home = self._folder / "home"
        self._server = Server(home, bin=Path(named) if named else None, settings=SETTINGS)
        self._url = self._server.start()
        self._admin = connect_sync(self._url)
        for setting in UNSAFE:
            self._admin.execute(f"alter system set {setting} = off".encode())
        self._admin.execute("select pg_reload_conf()")
        self._template = template(self._admin, self._url)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._copier.shutdown(cancel_futures=True)
        if self._admin:
            self._admin.close()
        if self._server:
            self._server.leave()
        remove_if_last(self._folder, self._use)

    def make(self) -> str:
        """A new database with the schema in it and nothing else; answers with its URL."""
        made = self._next or self._copier.submit(self._copy)
        self._next = self._copier.submit(self._copy)  # while the test runs that asked for this one
        return url_of(self._url, made.result())

    def drop(self, dsn: str) -> None:
        """Goes when the next one is made: a session that is just ending would cost 100 ms now."""
        self._left.append(urlsplit(dsn).path.removeprefix("/"))

    def _copy(self) -> str:
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        copy = f"create database {name} template {self._template} strategy file_copy"
        self.admin.execute(copy.encode())
        while self._left:
            gone = f"drop database if exists {self._left.pop()} with (force)"
            self.admin.execute(gone.encode())
        return name

    @property
    def admin(self) -> Connection:
        """A superuser's connection, not to a database of a test."""
        if self._admin is None:
            raise RuntimeError("the databases are there inside of `with Databases() as ...` only")
        return self._admin


def template(admin: Connection, url: str) -> str:
    """Made by the first process that asks, under a name that changes with the SQL."""
    name = f"template_{sha256(script().encode()).hexdigest()[:16]}"
    unfinished = f"{name}_unfinished"
    admin.execute("select pg_advisory_lock(%s)", (LOCK,))
    try:
        if admin.execute("select from pg_database where datname = %s", (name,)).rowcount:
            return name
        admin.execute(f"drop database if exists {unfinished} with (force)".encode())
        admin.execute(f"create database {unfinished}".encode())
        with connect_sync(url_of(url, unfinished)) as connection:
            migrate(connection)
            keep_few_days(connection)
        admin.execute(f"alter database {unfinished} allow_connections false".encode())
        admin.execute(f"alter database {unfinished} rename to {name}".encode())
    finally:
        admin.execute("select pg_advisory_unlock(%s)", (LOCK,))
    return name


def keep_few_days(connection: Connection) -> None:
    connection.execute("update leasehold.house set ahead = %s", (DAYS,))
    late = connection.execute(
        "select inhrelid::regclass::text from pg_inherits "
        "where inhparent in ('leasehold.job'::regclass, 'leasehold.attempt'::regclass) "
        "and right(inhrelid::regclass::text, 8) "
        "> to_char((leasehold.now() at time zone 'UTC')::date + %s, 'YYYYMMDD')",
        (DAYS,),
    ).fetchall()
    connection.execute(f"drop table {', '.join(row[0] for row in late)}".encode())


def url_of(url: str, database: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


# The folder of a run: whoever uses it holds its lock shared.


def folder_of_this_run() -> Path:
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    return Path(tempfile.gettempdir()) / f"{_prefix()}{run}"


def _prefix() -> str:
    return f"leasehold-tests-{os.geteuid()}-"


def take_part(folder: Path) -> int:
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):  # the last user of a moment ago is just removing it
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_SH)
            with suppress(FileNotFoundError):
                if (folder / "lock").stat().st_ino == os.fstat(lock).st_ino:
                    return lock
            os.close(lock)


def remove_if_last(folder: Path, lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pass
    else:
        server = Server(folder / "home")
        if server.running():  # its last user was killed
            server.start()
            server.leave()
        for path in {server.place.folder, folder}:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def sweep(own: Path) -> None:
    """Runs that were killed left their server running."""
    for folder in own.parent.glob(f"{_prefix()}*"):
        if folder != own:
            with suppress(OSError):
                remove_if_last(folder, os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC))
