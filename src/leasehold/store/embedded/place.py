"""Where the server's files are, whose they are, and which of its processes live.

home/                                 made by us, or it is refused
  leasehold.home                      the mark: without it a folder with files in it is foreign
  start.lock  users.lock  postgres.log
folder/                               home, or as root /var/lib/leasehold/<hash of home>
  data/  password  leasehold.conf  socket/
"""

import hashlib
import os
import pwd
import re
import secrets
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from leasehold.errors import DataDirectoryForeign, EmbeddedError
from leasehold.store.embedded.binaries import Owner, run

ROOM = Path("/var/lib/leasehold")
MARK = "leasehold.home"
SWEEP_LIMIT = 5  # seconds
PORT = 5432  # names the socket's file and nothing else: the server has no TCP
LONGEST_SOCKET_FOLDER = 85  # an address has 107 bytes, and Postgres appends its file's name


def default_home(folder: Path | None = None) -> Path:
    """`.leasehold` in the folder given, else in the one we are in."""
    return ((folder or Path.cwd()) / ".leasehold").absolute()


@dataclass(frozen=True, slots=True)
class Place:
    home: Path
    folder: Path
    owner: Owner | None  # None: the server runs as we do

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def settings_file(self) -> Path:
        return self.folder / "leasehold.conf"

    @property
    def password_file(self) -> Path:
        return self.folder / "password"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"

    @property
    def socket_folder(self) -> Path:
        inside = self.folder / "socket"
        # Quotes and commas mean something to libpq, to URLs and to postgresql.conf: not our fight.
        plain = re.fullmatch(r"[A-Za-z0-9_./-]+", str(inside))
        if plain and len(str(inside)) <= LONGEST_SOCKET_FOLDER:
            return inside
        return Path("/tmp") / f"leasehold-{short_hash(self.folder)}"  # noqa: S108  checked below

    @property
    def socket(self) -> Path:
        return self.socket_folder / f".s.PGSQL.{PORT}"

    def make_socket_folder(self) -> None:
        folder = self.socket_folder
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            if self.owner:
                os.chown(folder, *self.owner)
        # In /tmp anybody could have been first: whoever owns the folder could answer for us.
        found = folder.lstat()
        ours = found.st_uid == (self.owner.uid if self.owner else os.geteuid())
        if not (stat.S_ISDIR(found.st_mode) and ours) or found.st_mode & 0o077:
            owner, mode = found.st_uid, stat.filemode(found.st_mode)
            raise DataDirectoryForeign(folder, f"{mode} of user {owner}; it must be drwx------")

    def drop_socket_folder(self) -> None:
        with suppress(OSError):  # not empty: the server is still going down
            self.socket_folder.rmdir()

    def password(self) -> str:
        return self.password_file.read_text()

    def make_password(self) -> None:
        if not self.password_file.exists():
            self.write(self.password_file, secrets.token_urlsafe(24), mode=0o600, owner=self.owner)

    def write(self, path: Path, text: str, *, mode: int, owner: Owner | None = None) -> None:
        """All of it or nothing, whoever is killed meanwhile."""
        handle, unfinished = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
                file.flush()
                os.fchmod(handle, mode)
                if owner:
                    os.fchown(handle, *owner)
                os.fsync(handle)
            Path(unfinished).replace(path)
        except BaseException:
            Path(unfinished).unlink()
            raise

    def postmaster(self) -> int | None:
        """The server's process, if it lives."""
        pid = pid_in(self.data / "postmaster.pid")
        return pid if pid and self._is_ours(pid) else None

    def sweep(self) -> None:
        """Clear what a killed server left behind; to be called while alone and nobody answers."""
        for leftover in self.folder.glob("data.new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        for unfinished in (*self.folder.glob("leasehold.conf.*"), *self.folder.glob("password.*")):
            unfinished.unlink()
        if self.postmaster():
            return
        deadline = time.monotonic() + SWEEP_LIMIT
        while (orphans := list(self._orphans())) and time.monotonic() < deadline:
            for orphan in orphans:  # a busy one would miss its parent only at its query's end
                with suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGQUIT)
            time.sleep(0.02)
        for lock in (self.data / "postmaster.pid", Path(f"{self.socket}.lock")):
            pid = pid_in(lock)
            # Postgres takes a zombie, or a stranger who got the number, for the old server.
            if pid and not orphans and Path(f"/proc/{pid}").exists():
                lock.unlink()

    def _is_ours(self, pid: int) -> bool:
        if not Path("/proc/self").exists():
            return is_alive(pid)
        try:
            # A zombie has no arguments; and root in a container may read these, but no `cwd`.
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return os.fsencode(self.data) in arguments

    def _orphans(self) -> Iterator[int]:
        # A deleted home leaves its server alive: it would take the new one's socket away with it.
        names = {str(self.data), f"{self.data} (deleted)"}
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                named = (process / "comm").read_text() == "postgres\n"
                if named and self._workplace(process) in names:
                    yield int(process.name)

    def _workplace(self, process: Path) -> str:
        try:
            return str((process / "cwd").readlink())
        except PermissionError:
            # Root without CAP_SYS_PTRACE, as in most containers, may not look; the owner may.
            look = run(Path("/usr/bin/readlink"), process / "cwd", owner=self.owner, limit=5)
            return look.stdout.strip()


def locate(home: Path) -> Place:
    if os.geteuid() != 0:
        return Place(home, home, None)
    # What an ordinary user began here goes on here, as that user.
    folder = home if (home / "data").exists() else ROOM / short_hash(home)
    if not (folder / "data").exists():
        return Place(home, folder, None)
    owner = (folder / "data").stat()
    return Place(home, folder, Owner(owner.st_uid, owner.st_gid))


def settle(home: Path) -> Place:
    """Make sure of the folders, refuse foreign ones, and say who the server runs as."""
    if home.exists() and not home.is_dir():
        raise DataDirectoryForeign(home, "it is a file")
    home.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        home.mkdir(mode=0o700)
    before_the_mark = ("start.lock", "users.lock", MARK)
    names = [path.name for path in home.iterdir() if not path.name.startswith(before_the_mark)]
    # Asked after the list, for another process may be settling here at this moment.
    if names and not (home / MARK).exists():
        raise DataDirectoryForeign(home, f"it holds {min(names)!r}, and no {MARK}")
    place = locate(home)
    if place.folder != home:
        for made in (ROOM, place.folder):
            made.mkdir(exist_ok=True)
            made.chmod(0o711)  # mkdir obeys the umask; the server's user has to walk through
    if os.geteuid() == 0 and place.owner is None:
        return replace(place, owner=server_account())
    return place


def mark(place: Place) -> None:
    text = f"Leasehold's embedded Postgres of {place.home}; its data is in {place.data}\n"
    for folder in {place.home, place.folder}:
        if not (folder / MARK).exists():
            place.write(folder / MARK, text, mode=0o600)
    ignored = place.home / ".gitignore"
    if not ignored.exists():
        place.write(ignored, "*\n", mode=0o600)


def server_account() -> Owner:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if find_account("leasehold") is None and useradd:
        options = ("--system", "--no-create-home", "--home-dir", "/nonexistent")
        run(Path(useradd), *options, "--shell", "/usr/sbin/nologin", "leasehold", limit=30)
    for name in ("leasehold", "postgres", "nobody"):
        if found := find_account(name):
            return found
    raise EmbeddedError(
        "Postgres refuses to run as root, and there is no user leasehold, postgres or nobody: "
        "make one (`useradd --system leasehold`), or run as an ordinary user"
    )


def find_account(name: str) -> Owner | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Owner(entry.pw_uid, entry.pw_gid)


def pid_in(lock: Path) -> int | None:
    try:
        first = lock.read_text().partition("\n")[0]
    except OSError:
        return None
    return int(first) if first.isdecimal() else None


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def short_hash(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
