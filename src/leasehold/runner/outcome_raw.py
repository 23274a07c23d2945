"""Ends of runs that come from a child process, judged and encoded there."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RawResult:
    """A result that is encoded already."""

    raw: bytes | None


@dataclass(frozen=True, slots=True)
class Judged:
    """An outcome that is decided already."""

    document: dict[str, Any]
