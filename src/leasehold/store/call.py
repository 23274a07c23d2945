"""A verb as a value: what to call, with what, and how to read the answer. Drivers carry it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar

T_co = TypeVar("T_co", covariant=True)
Rows = Sequence[Sequence[Any]]
Style = Literal["%s", "$n"]


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """`types` names the SQL type of each argument, so that no driver has to guess."""

    verb: str
    types: str
    arguments: tuple[Any, ...]
    read: Callable[[Rows], T_co]


def statement(call: Call[Any], style: Style) -> str:
    return _text(call.verb, call.types, style)


@lru_cache(maxsize=256)
def _text(verb: str, types: str, style: Style) -> str:
    names = types.split()
    marks = ["%s" if style == "%s" else f"${n}" for n in range(1, len(names) + 1)]
    if style == "$n":
        # As text: many applications teach asyncpg JSON, and then it would write ours once more.
        marks = [
            mark + name.replace("jsonb", "::text") * ("json" in name)
            for mark, name in zip(marks, names, strict=True)
        ]
    # A verb is one of ours and a type is written in verbs.py: nothing here comes from outside.
    given = ", ".join(f"{mark}::{name}" for mark, name in zip(marks, names, strict=True))
    return f"select * from leasehold.{verb}({given})"  # noqa: S608
