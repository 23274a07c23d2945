"""The bounds of what people write: each check takes the option's name and gives back the value."""

import operator
import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any, Final

from leasehold.errors import OptionError

DAY: Final = 86_400.0
SMALLEST: Final = -32_768
LARGEST: Final = 32_767  # smallint, which is what the tables hold
EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9999, 12, 31, tzinfo=UTC)
QUEUE_MOST: Final = 63  # bytes
DELAY_MOST: Final = 36_500 * DAY

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def given(value: object) -> str:
    """The value's type, for messages, which never show the value itself."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def whole(option: str, value: Any, low: int, high: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise OptionError(option, f"takes a whole number from {low} to {high}, got {given(value)}")
    if not low <= number <= high:
        raise OptionError(
            option, f"is outside its range: write a whole number from {low} to {high}"
        )
    return number


def priority(option: str, value: Any) -> int:
    return whole(option, value, SMALLEST, LARGEST)


def number(option: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(option, f"takes a number from {low:g} to {high:g}, got {given(value)}")
    if not low <= value <= high:  # NaN is not between anything
        raise OptionError(option, f"is outside its range: write a number from {low:g} to {high:g}")
    return float(value)


def seconds(option: str, value: Any, low: float, high: float) -> float:
    """A duration, in seconds or as a timedelta."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(option, f"takes seconds or a timedelta, got {given(value)}")
    if not low <= value <= high:
        days = f" ({high / DAY:g} days)" if high >= DAY else ""
        raise OptionError(
            option, f"is outside its range: write {low:g} to {high:.0f} seconds{days}"
        )
    return float(value)


def above_zero(option: str, value: Any, high: float) -> float:
    length = seconds(option, value, 0.0, high)
    if length == 0.0:
        raise OptionError(option, "must be more than 0 seconds: leave it out for none")
    return length


def text(option: str, value: Any, most: int) -> str:
    """1 to `most` bytes without control characters. Quotes and the like are data as any other."""
    if not isinstance(value, str):
        raise OptionError(option, f"takes a text of 1 to {most} bytes, got {given(value)}")
    if found := _CONTROL.search(value):
        code = f"U+{ord(found[0]):04X}"
        problem = f"has {code} at {found.start()}: control characters are not allowed, take it out"
        raise OptionError(option, problem)
    size = len(value.encode())
    if not 1 <= size <= most:
        raise OptionError(option, f"has {size} bytes: write 1 to {most}")
    return value


def remark(option: str, value: Any, most: int) -> str:
    """What a person or program says to people: may be empty, may have lines."""
    if not isinstance(value, str):
        raise OptionError(option, f"takes a text, got {given(value)}")
    return value.encode(errors="replace")[:most].decode(errors="ignore").replace("\0", "\\0")


def moment(option: str, value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise OptionError(option, f"takes a datetime with a time zone, got {given(value)}")
    if value.utcoffset() is None:
        raise OptionError(option, "has no time zone: use datetime.now(UTC) or .replace(tzinfo=…)")
    try:
        exact = value.astimezone(UTC)
    except OverflowError:
        exact = None
    if exact is None or not EARLIEST <= exact <= LATEST:
        problem = f"is out of range: write a time from {EARLIEST.year} to the end of {LATEST.year}"
        raise OptionError(option, problem)
    return exact


def one_of(option: str, value: Any, choices: Collection[str]) -> str:
    if isinstance(value, str) and value in choices:
        return value
    listed = ", ".join(map(repr, choices))
    got = (
        given(value)
        if not isinstance(value, str)
        else f"another text{did_you_mean(value, choices)}"
    )
    raise OptionError(option, f"takes one of {listed}, got {got}")


def did_you_mean(word: str, words: Collection[str]) -> str:
    near = get_close_matches(word, words, n=1)
    return f", did you mean {near[0]!r}?" if near else ""
