"""The server: started by the first process that needs it, stopped by the last that leaves."""

import errno
import os
import pwd
import re
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Literal
from urllib.parse import quote

import psycopg

from leasehold.errors import (
    DataDirectoryForeign,
    NoPermission,
    NoRoom,
    ServerFailed,
)
from leasehold.store.embedded.binaries import (
    Binaries,
    binaries,
    binaries_for,
    binaries_in,
)
from leasehold.store.embedded.data import NAME, check_version, failure, make_data
from leasehold.store.embedded.place import PORT, ROOM, Place, locate, mark, settle
from leasehold.store.embedded.seat import Seat

START_LIMIT = 600  # seconds; recovery reads up to max_wal_size
REMAINS_LIMIT = 30  # seconds for the children of a killed server to notice and go
STOP_LIMIT = 60
LOG_LIMIT = 16_000_000

SETTINGS = MappingProxyType(
    {
        "shared_buffers": "256MB",
        "max_wal_size": "4GB",
        "wal_compression": "on",
        "checkpoint_timeout": "15min",
        "max_connections": "200",
        "track_io_timing": "on",
    }
)
# Without these a crash of the machine loses acknowledged jobs.
GUARDS = frozenset({"fsync", "full_page_writes"})
FIXED = frozenset(
    {
        *("listen_addresses", "port", "unix_socket_directories", "unix_socket_permissions"),
        *("data_directory", "hba_file", "ident_file", "external_pid_file", "logging_collector"),
    }
)


class Server:
    """One Postgres per home, whoever and however many use it. `with Server(home) as dsn: ...`"""

    def __init__(
        self,
        home: Path,
        *,
        bin: Path | None = None,  # noqa: A002  the name users know from LEASEHOLD_PG_BIN
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.home = home.resolve()
        self._bin = bin
        self._settings = {**SETTINGS, **checked(settings)}
        self._seat: Seat | None = None
        self._place: Place | None = None

    def start(self) -> str:
        """Join the server or start it, again if it died; answers with its database's URL."""
        with explained(self.home):
            if self._seat is None or self._seat.is_inherited():
                self._come()
            else:
                with self._seat.alone():
                    self._join_or_start()
            return self._url(NAME)

    def leave(self) -> None:
        """The last who leaves stops the server. To leave twice does no harm."""
        seat, self._seat = self._seat, None
        if seat is None:
            return
        try:
            if not seat.is_inherited():
                with seat.alone():
                    self._stop_if_last(seat)
        finally:
            seat.close()

    def __enter__(self) -> str:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    @property
    def place(self) -> Place:
        """Where its files are, or would be."""
        return self._place or locate(self.home)

    def running(self) -> bool:
        return self.postmaster_pid() is not None

    def postmaster_pid(self) -> int | None:
        return self.place.postmaster()

    def kill_hard(self) -> None:
        """For tests: the server dies as in a crash, and its children find out by themselves."""
        if pid := self.postmaster_pid():
            os.kill(pid, signal.SIGKILL)

    def _come(self) -> None:
        settle(self.home)  # a foreign folder gets no lock files
        seat = Seat(self.home)
        try:
            with seat.alone():
                self._place = settle(self.home)  # again: another may have put the data here
                mark(self._place)
                try:
                    self._join_or_start()
                    seat.sit()
                except BaseException:
                    self._stop_if_last(seat)
                    raise
        except BaseException:
            seat.close()
            raise
        self._seat = seat

    def _stop_if_last(self, seat: Seat) -> None:
        # The process of a server in another container is not ours to see, nor to signal.
        pid = self.place.postmaster() if seat.is_last() else None
        if pid is None:
            return
        os.kill(pid, signal.SIGINT)  # what `pg_ctl -m fast stop` sends
        deadline = time.monotonic() + STOP_LIMIT
        # Past the deadline it goes on stopping without us, and the next start waits for it.
        while self.place.postmaster() == pid and time.monotonic() < deadline:
            time.sleep(0.01)
        self.place.drop_socket_folder()

    def _join_or_start(self) -> None:
        self.place.make_socket_folder()  # before we talk to whoever listens in it
        begun = time.monotonic()
        while (state := self._greet()) != "ready":
            waited = time.monotonic() - begun
            if waited > START_LIMIT:
                said = f"it accepted no connection for {START_LIMIT} s"
                raise ServerFailed("joining the server", said, self.place.log)
            if state == "absent":
                try:
                    self._launch()
                    continue
                except ServerFailed as failure:
                    if not is_still_held(failure.said) or waited > REMAINS_LIMIT:
                        raise
            time.sleep(0.05)

    def _greet(self) -> Literal["ready", "busy", "absent"]:
        """Ask for a connection; the first one who gets it makes the database."""
        place = self.place
        if not (place.data.exists() and is_listening(place.socket)):
            return "absent"
        try:
            connection = psycopg.connect(self._url("postgres"), autocommit=True, connect_timeout=10)
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                found = f"its server does not take the password in {place.password_file}"
                raise DataDirectoryForeign(place.folder, found) from error
            if not is_busy(str(error)):
                raise ServerFailed("joining the server", str(error), place.log) from error
            return "busy"
        with connection:
            known = connection.execute("select from pg_database where datname = %s", (NAME,))
            if not known.rowcount:
                try:
                    connection.execute(f"create database {NAME}")
                except psycopg.errors.DiskFull as error:
                    raise NoRoom(place.folder, str(error)) from error
        return "ready"

    def _launch(self) -> None:
        place = self.place
        place.sweep()
        found = self._binaries()
        if place.data.exists():
            check_version(place, found)
        else:
            make_data(place, found)
        # Readable for the server's user, which does not own it; there is nothing secret in it.
        place.write(place.settings_file, self._settings_text(found), mode=0o644)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        log = os.open(place.log, flags, 0o600)
        try:
            if os.fstat(log).st_size > LOG_LIMIT:
                os.ftruncate(log, 0)
            begin = os.fstat(log).st_size
            command = ("start", "-D", place.data, "-w", "-t", START_LIMIT, "-s")
            done = found.run(
                "pg_ctl", *command, owner=place.owner, output=log, limit=START_LIMIT + 30
            )
            said = os.pread(log, LOG_LIMIT, begin).decode(errors="replace")
        finally:
            os.close(log)
        if done.returncode != 0:
            raise failure("starting Postgres", said, place)

    def _binaries(self) -> Binaries:
        if self._bin:
            found = binaries_in(self._bin, f"bin={self._bin} holds none that runs")
        else:
            found = binaries()
        return binaries_for(found, self.place.owner, ROOM)

    def _settings_text(self, found: Binaries) -> str:
        settings = {
            "unix_socket_directories": str(self.place.socket_folder),
            "unix_socket_permissions": "0700",
            "listen_addresses": "",
            "port": str(PORT),
        }
        if found.has_library("pg_stat_statements"):  # a missing one keeps the server from starting
            settings["shared_preload_libraries"] = "pg_stat_statements"
        lines = (
            f"{name} = '{value.replace(chr(92), chr(92) * 2).replace(chr(39), chr(39) * 2)}'\n"
            for name, value in (settings | self._settings).items()
        )
        return "# Rewritten at each start: give settings to Leasehold.\n" + "".join(lines)

    def _url(self, database: str) -> str:
        place = self.place
        try:
            password = place.password()
        except FileNotFoundError as error:
            found = f"{place.password_file} is missing"
            raise DataDirectoryForeign(place.folder, found) from error
        # The port is said because PGPORT would otherwise choose another socket.
        address = f"host={place.socket_folder}&port={PORT}"
        return f"postgresql://{NAME}:{quote(password, safe='')}@/{database}?{address}"


def checked(settings: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in settings.items():
        if not re.fullmatch(r"[a-z_][a-z0-9_.]*", name) or "\n" in value:
            raise ValueError(f"setting {name!r} = {value!r}: a name in small letters, one line")
        if name in FIXED:
            raise ValueError(
                f"setting {name!r} is Leasehold's own: the server has one private socket"
            )
        if name in GUARDS and value.lower() not in {"on", "true", "yes", "1"}:
            raise ValueError(
                f"setting {name} = {value!r} would lose acknowledged jobs: leave it on"
            )
    return settings


def is_listening(address: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(5)
        try:
            probe.connect(str(address))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except (BlockingIOError, TimeoutError):
            return True  # too many at its door
    return True


def is_busy(said: str) -> bool:
    """It starts, recovers, stops or has no free connection; what is final says FATAL otherwise."""
    passing = ("the database system is", "terminating connection", "too many", "connection slots")
    return "FATAL" not in said or any(words in said for words in passing)


def is_still_held(said: str) -> bool:
    """A killed server's children, or one that is just coming up, hold the folder: they will go."""
    return "pre-existing shared memory block" in said or "FATAL:  lock file" in said


@contextmanager
def explained(home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        folder = Path(error.filename) if isinstance(error.filename, str) else home
        reason = error.strerror or str(error)
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise NoRoom(folder, reason) from error
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise NoPermission(folder, user_name(), reason) from error
        raise


def user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # containers run as numbers nobody has named
        return str(os.geteuid())
