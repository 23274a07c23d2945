"""Lengths and points of time as people type them: `90`, `5m`, `2h`; `2026-03-01T08:00`."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from leasehold.errors import SettingsError

_UNITS: Final = {
    **dict.fromkeys(("", "s", "sec"), 1.0),
    **dict.fromkeys(("m", "min"), 60.0),
    **dict.fromkeys(("h",), 3_600.0),
    **dict.fromkeys(("d",), 86_400.0),
    "ms": 0.001,
}
_LENGTH: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


def seconds(option: str, said: str) -> float:
    found = _LENGTH.fullmatch(said.strip().lower())
    if found is None or found[2] not in _UNITS:
        msg = f"--{option} takes a length of time such as 90, 5m, 2h or 1d, got {said!r}"
        raise SettingsError(msg)
    return float(found[1]) * _UNITS[found[2]]


def moment(option: str, said: str) -> datetime:
    """A time; without a zone it is this machine's."""
    try:
        return datetime.fromisoformat(said).astimezone(UTC)
    except (ValueError, OverflowError):
        msg = f"--{option} takes a time such as 2026-03-01T08:00+00:00, got {said!r}"
        raise SettingsError(msg) from None


def past(option: str, said: str) -> datetime:
    """A time, or how long ago."""
    if _LENGTH.fullmatch(said.strip().lower()):
        try:
            return datetime.now(UTC) - timedelta(seconds=seconds(option, said))
        except OverflowError:
            msg = f"--{option} lies before all time"
            raise SettingsError(msg) from None
    return moment(option, said)


def span(length: float | None) -> str:
    """A length of time in few characters."""
    if length is None:
        return "-"
    for size, unit in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "m")):
        if abs(length) >= 2 * size:
            return f"{length / size:.0f}{unit}"
    return f"{length:.1f}s" if 0 < abs(length) < 10 else f"{length:.0f}s"  # noqa: PLR2004


def clock(moment: datetime | None, now: datetime | None = None) -> str:
    """In this machine's zone, with its date where that is another day."""
    if moment is None:
        return "-"
    local = moment.astimezone()
    today = (now or datetime.now(UTC)).astimezone().date() == local.date()
    return local.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")
