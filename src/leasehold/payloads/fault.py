"""Where a value cannot pass the door, and why. Asked only where bytes or types raise suspicion."""

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import Enum
from typing import Any, Final

import msgspec

from leasehold.payloads.kinds import BY_ATTRIBUTE, Kinds

DEEPEST: Final = 100
MOST_BITS: Final = 4_096  # of an int: Python itself writes no int of more than 4,300 digits
_KEY_SHOWN: Final = 40

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PLAIN: Final = (str, int, bool, float, type(None))

Fault = tuple[str, str]  # the path below the value, the problem


def suspicious(raw: bytes) -> bool:
    """The marks that every NUL, every NaN (written as null) and every deep nesting leave."""
    if b"\\u0000" in raw or b"null" in raw:
        return True
    # Nesting of 101 takes 202 brackets at least; counting them costs less than a walk.
    return len(raw) > 2 * DEEPEST and raw.count(b"[") + raw.count(b"{") > DEEPEST


def is_plain(values: Iterable[Any], levels: int = DEEPEST) -> bool:
    """Quick, and right only of what was not suspicious; a no may be a yes on a closer look."""
    for value in values:
        kind = type(value)
        if kind is int:
            if not -(2**63) <= value < 2**63:
                return False
        elif kind is dict:
            if not (levels and _all_texts(value) and is_plain(value.values(), levels - 1)):
                return False
        elif kind is list:
            if not (levels and is_plain(value, levels - 1)):
                return False
        elif kind not in _PLAIN:
            return False
    return True


def _all_texts(keys: Iterable[Any]) -> bool:
    return all(type(key) is str for key in keys)


def find(value: Any, kinds: Kinds, *, plain: bool = False, depth: int = 0) -> Fault | None:
    """The first fault. `plain`: nothing says how to read it back, so it must be JSON already."""
    if isinstance(value, str):
        return _in_text(value)
    if (places := _places(value, plain=plain)) is None:
        problem = _in_scalar(value, kinds, plain=plain)
        return ("", problem) if problem else None
    if depth >= DEEPEST:
        return "", f"is nested deeper than {DEEPEST}: flatten it, or pass the key of a stored copy"
    if isinstance(value, dict) and (fault := _in_keys(value, plain=plain)):
        return fault
    for place, item in places:
        if fault := find(item, kinds, plain=plain, depth=depth + 1):
            return place + fault[0], fault[1]
    return None


def _places(value: Any, *, plain: bool) -> Iterator[tuple[str, Any]] | None:
    """What is inside, each with its place; None for what has no inside."""
    if isinstance(value, dict):
        return ((_place(key), item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return ((f"[{n}]", item) for n, item in enumerate(value))
    if plain:
        return None
    if isinstance(value, set | frozenset):
        return (("[…]", item) for item in value)
    return _attributes(value)


def _in_text(value: str) -> Fault | None:
    if (at := value.find("\0")) >= 0:
        return "", f"contains NUL at {at}; use bytes or strip it"
    if not value.isascii() and (found := _SURROGATE.search(value)):
        code = f"U+{ord(found[0]):04X}"
        return "", f"contains the lone surrogate {code} at {found.start()}; use bytes or replace it"
    return None


def _in_keys(value: dict[Any, Any], *, plain: bool) -> Fault | None:
    for key in value:
        if isinstance(key, str):
            if fault := _in_text(key):
                return "", f"has a key that {fault[1]}"
        elif plain:
            kind = type(key).__name__
            return "", f"has a key of type {kind}: in JSON keys are texts; write dict[{kind}, …]"
    return None


def _in_scalar(value: Any, kinds: Kinds, *, plain: bool) -> str | None:
    if plain and not isinstance(value, _PLAIN):
        kind = type(value).__name__
        return f"is a {kind} where only plain JSON comes back: annotate the parameter with {kind}"
    match value:
        case float():
            good = math.isfinite(value)
            return None if good else "is NaN or infinite, which JSON has not: use None, or a text"
        case int():
            return _in_int(value, plain=plain)
        case datetime():
            good = value.utcoffset() is not None
            return None if good else "has no time zone; use datetime.now(UTC)"
        case Enum():
            return None
        case _:
            return _without_codec(value, kinds)


def _in_int(value: int, *, plain: bool) -> str | None:
    if plain and not -(2**63) <= value < 2**63:
        return "is an int beyond 64 bits: annotate the parameter with int, or use a text"
    if value.bit_length() > MOST_BITS:
        return f"is an int of more than {MOST_BITS} bits: use bytes or a text"
    return None


def _attributes(value: Any) -> Iterator[tuple[str, Any]] | None:
    if isinstance(value, msgspec.Struct):
        names: Any = value.__struct_fields__
    elif dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    elif hasattr(type(value), "__attrs_attrs__"):
        names = [field.name for field in type(value).__attrs_attrs__]
    elif hasattr(type(value), "model_fields"):
        names = list(type(value).model_fields)
    else:
        return None
    return ((f".{name}", v) for name in names if (v := getattr(value, name, None)) is not None)


def _without_codec(value: Any, kinds: Kinds) -> str | None:
    cls = type(value)
    if kinds.knows(cls):
        return None
    try:
        msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        how = f"{BY_ATTRIBUTE}, or register one: Custom({cls.__name__}, encode, decode)"
        return f"is of type {cls.__name__}, which has no codec: {how}"
    return None


def _place(key: Any) -> str:
    shown = isinstance(key, str) and key.isidentifier() and len(key) <= _KEY_SHOWN
    return f".{key}" if shown else "[…]"
