"""Types that msgspec does not know: pydantic's models, and what the application registered."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

BY_ATTRIBUTE: Final = "pass plain data, a dataclass, a msgspec.Struct or a pydantic model"


@dataclass(frozen=True, slots=True)
class Custom:
    """A codec for a type of the application: `encode` gives plain JSON, `decode` takes it back."""

    type: type[Any]
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


class BrokenCodec(ValueError):
    """A registered codec, or a model's own, raised."""


@dataclass(frozen=True, slots=True)
class Kinds:
    customs: tuple[Custom, ...] = ()

    def knows(self, cls: type[Any]) -> bool:
        return self._custom(cls) is not None or is_model(cls)

    def to_plain(self, value: Any) -> Any:
        """msgspec's enc_hook. Its errors would show the value, so they are put in other words."""
        cls = type(value)
        custom = self._custom(cls)
        if custom is None and not is_model(cls):
            return _as_its_base(value)
        try:
            if custom is not None:
                return custom.encode(value)
            return msgspec.Raw(value.model_dump_json(by_alias=True, round_trip=True).encode())
        except Exception as error:  # noqa: BLE001 - the codec is the application's
            problem = f"has a {cls.__name__} whose codec raised {type(error).__name__}"
            raise BrokenCodec(problem) from None

    def from_plain(self, cls: type[Any], value: Any) -> Any:
        """msgspec's dec_hook, which `convert` also asks about what is decoded already."""
        if isinstance(value, cls):
            return value
        custom = self._custom(cls)
        try:
            if custom is not None:
                return custom.decode(value)
            # As JSON: a strict model takes the text of a UUID or a time from JSON alone.
            return cls.model_validate_json(msgspec.json.encode(value))
        except Exception as error:  # noqa: BLE001 - the codec is the application's
            raise ValueError(f"is no {cls.__name__}: {_complaint(error)}") from None

    def _custom(self, cls: type[Any]) -> Custom | None:
        for custom in self.customs:
            if issubclass(cls, custom.type):
                return custom
        return None


def is_model(cls: type[Any]) -> bool:
    """Whoever uses a model has imported pydantic; we never do."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(cls, type) and issubclass(cls, pydantic.BaseModel)


def _as_its_base(value: Any) -> str | int | float:
    """msgspec takes str itself, and leaves its subclasses (a template's safe text) to us."""
    match value:
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case _:
            raise TypeError(type(value).__name__)


def _complaint(error: Exception) -> str:
    try:
        found = error.errors(include_input=False, include_url=False, include_context=False)  # type: ignore[attr-defined]  # pydantic's
        return ", ".join(f"{'.'.join(map(str, e['loc']))} {e['type']}" for e in found[:5])
    except Exception:  # noqa: BLE001 - not pydantic's: its text may hold the value, its type does not
        return type(error).__name__
