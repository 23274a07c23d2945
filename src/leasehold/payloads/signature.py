"""A function's parameters as msgspec's types, with what has to be watched at each."""

import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET
from msgspec.inspect import (
    AnyType,
    CollectionType,
    CustomType,
    DataclassType,
    DateTimeType,
    DictType,
    Field,
    NamedTupleType,
    StrType,
    StructType,
    Type,
    TypedDictType,
    UnionType,
)

from leasehold.errors import DefinitionError
from leasehold.payloads.kinds import BY_ATTRIBUTE, Kinds

EXTRAS: Final = "**"  # where the others are listed by name
_MODULES: Final = re.compile(r"\b(?:\w+\.)+(?:<locals>\.)?(?=\w)")
_EXACT: Final = (str, int, float, bool)
_BUILT: Final = (CustomType, DataclassType, NamedTupleType, StructType, TypedDictType)


@dataclass(frozen=True, slots=True)
class Signature:
    text: str
    positional: tuple[str, ...]  # may be given by position
    only_positional: tuple[tuple[str, Any], ...]  # must be, with their defaults
    types: dict[str, str]  # as people wrote them
    exact: dict[str, type]  # those where the type says all there is to check
    required: frozenset[str]
    extras: Any  # what **kwargs may hold, UNSET without it
    struct: type[msgspec.Struct]
    result: Any
    loose: frozenset[str]  # nothing says how to read them back: plain JSON only
    watched: bool  # may hold a naive datetime, or what only a look at it can tell
    built: bool  # holds classes whose instances nobody has checked: read the bytes again

    @classmethod
    def of(cls, function: Callable[..., Any], task: str, kinds: Kinds) -> "Signature":
        parameters, result = _read(function, task)
        named = {p.name: p for p in parameters if p.kind is not p.VAR_KEYWORD}
        extras = [p.annotation for p in parameters if p.kind is p.VAR_KEYWORD]
        hints = {name: p.annotation for name, p in named.items()}
        infos = {name: _info(task, name, hint) for name, hint in (hints | _extra(extras)).items()}
        loose = frozenset(name for name, info in infos.items() if _is_loose(info))
        typed = [
            part for n, info in infos.items() if n not in loose for part in _parts(info, set())
        ]
        required = frozenset(name for name, p in named.items() if p.default is p.empty)
        for name in required | _extra(extras).keys():
            _refuse_without_codec(task, name, infos[name], kinds)
        return cls(
            text=f"{task}({', '.join(map(_shown, parameters))})",
            positional=tuple(n for n, p in named.items() if p.kind is not p.KEYWORD_ONLY),
            only_positional=tuple(
                (n, p.default) for n, p in named.items() if p.kind is p.POSITIONAL_ONLY
            ),
            types={name: _type_text(p) for name, p in named.items()},
            exact={name: hint for name, hint in hints.items() if hint in _EXACT},
            required=required,
            extras=extras[0] if extras else UNSET,
            struct=_struct(hints, required, forbid_others=not extras),
            result=_readable(result),
            loose=loose,
            watched=any(_is_watched(part) for part in typed),
            built=any(isinstance(part, _BUILT) for part in typed),
        )


def _read(function: Callable[..., Any], task: str) -> tuple[list[inspect.Parameter], Any]:
    """The parameters with their annotations as types, and the result's."""
    try:
        signature = inspect.signature(function)
        hints = _hints(function)
    except (NameError, AttributeError) as error:
        missing = getattr(error, "name", None) or "an annotation"
        problem = f"has an annotation that cannot be read, {missing!r} is not there at run time"
        raise DefinitionError(task, f"{problem}: import it outside `if TYPE_CHECKING`") from error
    except (TypeError, ValueError) as error:
        raise DefinitionError(task, f"has no signature that can be read: {error}") from error
    found = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            problem = f"takes *{parameter.name}, but a payload has its arguments by name"
            raise DefinitionError(task, f"{problem}: take a list")
        hint = hints.get(parameter.name, Any)
        if hint is object:
            hint = Any
        if parameter.default is None and hint is not Any:
            hint = hint | None
        found.append(parameter.replace(annotation=hint))
    return found, hints.get("return", Any)


def _hints(function: Any) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = function.__call__
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, AttributeError):
        # The result's annotation helps, but no task needs it.
        needed = {n: h for n, h in function.__annotations__.items() if n != "return"}
        bare = type("Bare", (), {"__annotations__": needed})
        return typing.get_type_hints(
            bare, inspect.unwrap(function).__globals__, include_extras=True
        )


def _struct(
    hints: dict[str, Any], required: frozenset[str], *, forbid_others: bool
) -> type[msgspec.Struct]:
    """A default stays with the function: what was not said is UNSET, and not in the payload."""
    fields: list[Any] = [
        (name, hint) if name in required else (name, hint, UNSET) for name, hint in hints.items()
    ]
    return msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=forbid_others)


def _extra(extras: list[Any]) -> dict[str, Any]:
    return {EXTRAS: extras[0]} if extras else {}


def _info(task: str, name: str, hint: Any) -> Type:
    try:
        msgspec.json.Decoder(hint)
        return msgspec.inspect.type_info(hint)
    except TypeError as error:
        problem = f"takes {name} with an annotation that JSON cannot be read by: {error}"
        raise DefinitionError(task, problem) from error


def _parts(info: Any, seen: set[int]) -> Iterator[Type]:
    """The type and all within it, each once: types may be recursive."""
    if isinstance(info, tuple):
        for one in info:
            yield from _parts(one, seen)
    elif isinstance(info, Type | Field) and id(info) not in seen:
        seen.add(id(info))
        if isinstance(info, Type):
            yield info
        for name in info.__struct_fields__:
            yield from _parts(getattr(info, name), seen)


def _is_loose(info: Type) -> bool:
    match info:
        case AnyType():
            return True
        case DictType(key_type=AnyType() | StrType()):
            return _is_loose(info.value_type)
        case CollectionType():
            return _is_loose(info.item_type)
        case UnionType():
            return any(_is_loose(one) for one in info.types)
        case _:
            return False


def _is_watched(part: Type) -> bool:
    if isinstance(part, DateTimeType):
        return part.tz is not True
    return isinstance(part, AnyType | CustomType)


def _refuse_without_codec(task: str, name: str, info: Type, kinds: Kinds) -> None:
    for part in _parts(info, set()):
        if isinstance(part, CustomType) and not kinds.knows(part.cls):
            cls = part.cls.__name__
            how = f"{BY_ATTRIBUTE}, or register one: Custom({cls}, encode, decode)"
            raise DefinitionError(task, f"takes {name}: {cls}, which has no codec: {how}")


def _readable(result: Any) -> Any:
    """The result's type, or Any where msgspec cannot read it: a result is stored all the same."""
    try:
        msgspec.json.Decoder(result)
        parts = list(_parts(msgspec.inspect.type_info(result), set()))
    except TypeError:
        return Any
    return result if not any(type(part) is CustomType for part in parts) else Any


def _shown(parameter: inspect.Parameter) -> str:
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    default = "" if parameter.default is parameter.empty else " = …"
    return f"{stars}{parameter.name}: {_type_text(parameter)}{default}"


def _type_text(parameter: inspect.Parameter) -> str:
    hint = parameter.annotation
    return _MODULES.sub("", inspect.formatannotation(hint))
