"""One thing that is wrong with the house, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["wrong", "warning", "note"]
Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """All but a `note` make `leasehold doctor` fail. `fix` names a repair of repair.py."""

    code: str
    severity: Severity
    what: str
    why: str
    do: str
    fix: str | None = None
