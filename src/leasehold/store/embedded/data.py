"""The data folder: made whole or not at all, and used only by the version that made it."""

import os
import shutil
import tempfile
from pathlib import Path

from leasehold.errors import (
    DataDirectoryForeign,
    DataDirectoryVersion,
    EmbeddedError,
    NoRoom,
    ServerFailed,
)
from leasehold.store.embedded.binaries import Binaries, debian_folders
from leasehold.store.embedded.place import Place

NAME = "leasehold"  # of the database and of its superuser
ROOM_NEEDED = 200_000_000  # initdb writes 40 MB, the first WAL files as much again
LAST_LINES = 15


def make_data(place: Place, found: Binaries) -> None:
    """Into a folder of another name first, so that an initdb cut short never counts."""
    free = shutil.disk_usage(place.folder).free
    if free < ROOM_NEEDED:
        raise NoRoom(
            place.folder, f"{free // 1_000_000} MB free, {ROOM_NEEDED // 1_000_000} needed"
        )
    place.make_password()
    unfinished = Path(tempfile.mkdtemp(prefix="data.new-", dir=place.folder))
    try:
        if place.owner:
            os.chown(unfinished, *place.owner)
        initdb(place, found, unfinished)
        include(place.settings_file, unfinished / "postgresql.conf")
        unfinished.rename(place.data)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def initdb(place: Place, found: Binaries, folder: Path) -> None:
    done = found.run(
        "initdb",
        f"--pgdata={folder}",
        f"--username={NAME}",
        f"--pwfile={place.password_file}",
        "--auth-local=scram-sha-256",
        "--auth-host=reject",
        "--encoding=UTF8",
        "--locale=C",
        "--data-checksums",
        "--no-instructions",
        owner=place.owner,
    )
    if done.returncode != 0:
        raise failure("making the data folder (initdb)", done.stdout, place)


def include(settings_file: Path, into: Path) -> None:
    handle = os.open(into, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    with os.fdopen(handle, "a") as file:
        file.write(f"\ninclude = '../{settings_file.name}'\n")
        file.flush()
        os.fsync(handle)


def check_version(place: Place, found: Binaries) -> None:
    try:
        made_by = int((place.data / "PG_VERSION").read_text())
    except (FileNotFoundError, ValueError) as error:
        raise DataDirectoryForeign(place.data, "it has no PG_VERSION") from error
    if made_by != found.version:
        old = next((f for f in debian_folders() if f.parent.name == str(made_by)), None)
        known = old or Path(f"/path/to/postgres-{made_by}/bin")
        raise DataDirectoryVersion(place.folder, made_by, found.version, known, found.folder)


def failure(attempt: str, said: str, place: Place) -> EmbeddedError:
    last = "\n".join(said.strip().splitlines()[-LAST_LINES:])
    if "No space left on device" in said or "Disk quota exceeded" in said:
        return NoRoom(place.folder, last)
    return ServerFailed(attempt, last, place.log)
