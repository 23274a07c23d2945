"""Throw-away databases: one server a test run, one migrated template, copied within 30 ms.

The server is the embedded one, in a folder of the run, in memory where there is enough of it:
where databases come and go, ext4 takes ten times as long to make a file (it keeps away from the
inodes of the last seconds). LEASEHOLD_TEST_BIN names the programs of another version. The processes
of a run (pytest-xdist) share it: the last one to leave removes it, and what a killed run left goes
with the next.
"""

import fcntl
import os
import shutil
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from leasehold.store.connect import Connection, connect_sync
from leasehold.store.embedded import Binaries, Server, binaries
from leasehold.store.embedded.binaries import binaries_for, binaries_in
from leasehold.store.embedded.data import make_data
from leasehold.store.embedded.place import ROOM, Place, mark, server_account
from leasehold.store.migrate import LOCK, migrate, script

SETTINGS = {
    "max_prepared_transactions": "20",
    "max_connections": "300",
    "autovacuum": "off",
    "max_wal_size": "256MB",
}
MEMORY = Path("/dev/shm")  # noqa: S108  our folder in it is ours alone
ENOUGH = 2_000_000_000  # bytes free there; a container's has 64 MB unless somebody asked for more
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
        self._template = self._day = ""

    def __enter__(self) -> Self:
        sweep(self._folder)
        self._use = take_part(self._folder)
        named = os.environ.get("LEASEHOLD_TEST_BIN")
        found = binaries_in(Path(named), f"LEASEHOLD_TEST_BIN={named}") if named else binaries()
        home = make_home(self._folder, found)
        self._server = Server(home, bin=found.folder, settings=SETTINGS)
        self._url = self._server.start()
        self._admin = connect_sync(self._url)
        for setting in UNSAFE:
            self._admin.execute(f"alter system set {setting} = off".encode())
        self._admin.execute("select pg_reload_conf()")
        self._day = today()
        self._template = template(self._admin, self._url, self._day)
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
        if (day := today()) != self._day:  # a run that goes on past midnight
            self._day, self._template = day, template(self.admin, self._url, day)
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


def today() -> str:
    return f"{datetime.now(UTC):%Y%m%d}"


def template(admin: Connection, url: str, day: str) -> str:
    """Made by the first process that asks, under a name that changes with the SQL and the day.

    The days of a database are counted from the one on which it was made.
    """
    name = f"template_{sha256(script().encode()).hexdigest()[:16]}_{day}"
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
    memory = MEMORY.exists() and os.access(MEMORY, os.W_OK)
    roomy = memory and shutil.disk_usage(MEMORY).free > ENOUGH
    return (MEMORY if roomy else Path(tempfile.gettempdir())) / f"{_prefix()}{run}"


def make_home(folder: Path, found: Binaries) -> Path:
    """With the data in it, for all processes of the run; root's data would be elsewhere."""
    home = folder / "home"
    lock = os.open(folder / "begin", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        if not (home / "data").exists():
            owner = server_account() if os.geteuid() == 0 else None
            place = Place(home, home, owner)
            for path in (folder, home):
                path.mkdir(exist_ok=True)
                path.chmod(0o711)  # the server's user has to walk through
            mark(place)
            make_data(place, binaries_for(found, owner, ROOM))
    finally:
        os.close(lock)
    return home


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
        if (folder / "home" / "data").exists():
            server = Server(folder / "home")
            if server.running():  # its last user was killed
                server.start()
                server.leave()
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def sweep(own: Path) -> None:
    """Runs that were killed left their server running."""
    for folder in own.parent.glob(f"{_prefix()}*"):
        if folder != own:
            with suppress(OSError):
                remove_if_last(folder, os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC))
