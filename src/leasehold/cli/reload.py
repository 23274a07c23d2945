"""Tells when Python files below a folder have changed."""

import time
from collections.abc import Iterator
from pathlib import Path

LOOK = 0.5  # seconds between two looks
_PASSED_OVER = {".venv", "venv", "node_modules", "__pycache__", ".git", ".leasehold"}


class Changes:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = self._look()
        self._looked = time.monotonic()

    def seen(self) -> bool:
        """True once for each change."""
        if time.monotonic() - self._looked < LOOK:
            return False
        self._looked = time.monotonic()
        before, self._known = self._known, self._look()
        return before != self._known

    def _look(self) -> dict[str, float]:
        return dict(self._files(self._folder))

    def _files(self, folder: Path) -> Iterator[tuple[str, float]]:
        for entry in folder.iterdir():
            if entry.name in _PASSED_OVER or entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from self._files(entry)
            elif entry.suffix == ".py":
                yield str(entry), entry.stat().st_mtime
