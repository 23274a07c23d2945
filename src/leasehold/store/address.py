"""Where the jobs live: a database somebody named, or an embedded one.

Never a silent one on a disk that vanishes.
"""

import os
import sys
from pathlib import Path
from typing import Final

from leasehold.errors import SettingsError
from leasehold.store import connect
from leasehold.store.embedded import Server, default_home
from leasehold.store.migrate import migrate

_PRODUCTION: Final = (
    "CI",
    "KUBERNETES_SERVICE_HOST",
    "DYNO",
    "FLY_APP_NAME",
    "RAILWAY_ENVIRONMENT",
    "AWS_EXECUTION_ENV",
)
_SCHEMES: Final = ("postgresql://", "postgres://")


class Address:
    """`open` finds out, `dsn` is the address then."""

    def __init__(self, url: str | Path | None) -> None:
        self._said = url
        self._server: Server | None = None
        self._dsn: str | None = None

    @property
    def opened(self) -> bool:
        return self._dsn is not None

    @property
    def embedded(self) -> bool:
        return self._server is not None

    @property
    def dsn(self) -> str:
        if self._dsn is None:
            self.open()
        assert self._dsn is not None  # noqa: S101 - open() found it
        return self._dsn

    def open(self) -> None:
        said = self._said or os.environ.get("DATABASE_URL")
        if isinstance(said, str) and (said.startswith(_SCHEMES) or "=" in said):
            self._dsn = said
            return
        if isinstance(said, str) and "://" in said:
            scheme = said.split("://")[0]
            msg = (
                f"{scheme}:// is not an address of Postgres: write "
                "postgresql://user@host/database, or a folder for an embedded one"
            )
            raise SettingsError(msg)
        self._server = Server(Path(said).absolute() if said else self._folder())
        self._dsn = self._server.start()
        with connect.connect_sync(self._dsn) as connection:
            migrate(connection)

    def _folder(self) -> Path:
        if why := _not_here():
            msg = (
                f"no database was named, and {why}: set "
                "DATABASE_URL=postgresql://user@host/database, or write "
                'App("path/to/folder") for an embedded Postgres in a folder that lasts'
            )
            raise SettingsError(msg)
        return default_home()

    def close(self) -> None:
        server, self._server, self._dsn = self._server, None, None
        if server is not None:
            server.leave()


def _not_here() -> str | None:
    """Why an embedded database that nobody asked for would be a trap; None at a person's desk."""
    for name in _PRODUCTION:
        if os.environ.get(name):
            return f"{name} is set, so this is no desk"
    if os.environ.get("LEASEHOLD_ENV", "") == "production":
        return "LEASEHOLD_ENV is production"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "this is a container, whose disk vanishes"
    if not any(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)
    ):
        return "this is no terminal"
    return None
