"""The arguments and the result of one function ⇄ JSON, read from its signature once."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, ValidationError
from msgspec.structs import asdict

from leasehold.define.bounds import did_you_mean
from leasehold.errors import PayloadCorrupt, PayloadError, PayloadMismatch
from leasehold.payloads import fault
from leasehold.payloads.kinds import BrokenCodec, Custom, Kinds
from leasehold.payloads.signature import EXTRAS, Signature

LIMIT: Final = 1_048_576

# Named here, msgspec takes them as they are: at a call a text is no UUID, though in JSON it is one.
_AS_THEY_ARE: Final = (bytes, bytearray, datetime, date, time, timedelta, UUID, Decimal)
_WITH_VALUE: Final = re.compile(r"^(invalid (?:enum )?value) .*", re.DOTALL)
_UNREADABLE: Final = (msgspec.DecodeError, ValueError, RecursionError)
_UNWRITABLE: Final = (msgspec.EncodeError, TypeError, ValueError, OverflowError, RecursionError)
_NAMES_SHOWN: Final = 20
_PATH_SHOWN: Final = 100

Raw = bytes | bytearray | memoryview | str
Call = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Codec:
    """`decode_call` is made for the signature: the hot path has no questions left to ask."""

    task: str
    signature: Signature
    kinds: Kinds
    limit: int
    decode_call: Callable[[Raw], Call]
    _write: Callable[[Any], bytes]
    _reread: Callable[[bytes], Any]
    _read_result: Callable[[Raw], Any]

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        task: str | None = None,
        *,
        customs: tuple[Custom, ...] = (),
        payload_limit: int = LIMIT,
    ) -> "Codec":
        kinds = Kinds(customs)
        name = task or str(getattr(function, "__name__", "task"))
        signature = Signature.of(function, name, kinds)
        struct = msgspec.json.Decoder(signature.struct, dec_hook=kinds.from_plain).decode
        return cls(
            task=name,
            signature=signature,
            kinds=kinds,
            limit=payload_limit,
            decode_call=_reader(name, signature, kinds, struct),
            _write=msgspec.json.Encoder(enc_hook=kinds.to_plain).encode,
            _reread=struct,
            _read_result=msgspec.json.Decoder(signature.result, dec_hook=kinds.from_plain).decode,
        )

    def encode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        """The JSON object of the arguments, bound and typed as a call would be, or PayloadError."""
        given = self._bind(args, kwargs) if args else kwargs
        raw = self._written(given)
        if len(raw) > self.limit:
            raise PayloadError(
                self.task,
                f"has a payload of {len(raw):,} bytes, the limit is {self.limit:,}: keep the data "
                "elsewhere and pass its key, or raise the setting payload_limit",
            )
        if self.signature.watched or fault.suspicious(raw) or not self._is_plain(given):
            self._look(given)
        return raw

    def encode_result(self, value: Any) -> tuple[bytes | None, str | None]:
        """The bytes, or why there are none: a job that has succeeded never fails for its cargo."""
        if value is None:
            return None, None
        try:
            raw = self._write(value)
            if len(raw) > self.limit:
                size = f"{len(raw):,} bytes, the limit is {self.limit:,}"
                return None, f"result has {size}: raise the setting payload_limit"
            found = fault.find(value, self.kinds) if fault.suspicious(raw) else None
        except Exception as error:  # noqa: BLE001 - whatever a result's own code raises
            return None, f"result of type {type(value).__name__} cannot be encoded: {_kind(error)}"
        return (None, f"result{found[0]} {found[1]}") if found else (raw, None)

    def decode_result(self, raw: Raw | None) -> Any:
        """By the function's annotation; where the result does not follow it, plain JSON."""
        if raw is None:
            return None
        try:
            return self._read_result(raw)
        except ValidationError:
            return msgspec.json.decode(raw)

    @staticmethod
    def plain(raw: Raw | None) -> Any:
        """A result of a task that is not known here."""
        return None if raw is None else msgspec.json.decode(raw)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        names = self.signature.positional
        if len(args) > len(names):
            takes = f"takes at most {len(names)} arguments by position, got {len(args)}"
            raise PayloadError(self.task, takes)
        bound = dict(zip(names, args, strict=False))
        if twice := bound.keys() & kwargs.keys():
            raise PayloadError(f"{self.task}.{min(twice)}", "is given twice, by position and name")
        return bound | kwargs

    def _written(self, given: dict[str, Any]) -> bytes:
        try:
            if self._is_exact(given):
                return self._write(given)
            raw = self._write(self._typed(given))
        except ValidationError as error:
            raise self._mistaken(given, str(error)) from None
        except BrokenCodec as error:
            raise PayloadError(self.task, str(error)) from None
        except _UNWRITABLE as error:
            self._look(given)
            problem = f"has arguments that cannot be encoded: {_kind(error)}"
            raise PayloadError(self.task, problem) from None
        if self.signature.built:
            self._prove(given, raw)
        return raw

    def _prove(self, given: dict[str, Any], raw: bytes) -> None:
        """Nobody checks what people assign to a dataclass; a worker would be the first to."""
        try:
            self._reread(raw)
        except _UNREADABLE as error:
            self._look(given)
            raise self._mistaken(given, str(error)) from None

    def _is_exact(self, given: dict[str, Any]) -> bool:
        exact = self.signature.exact
        for name, value in given.items():
            if type(value) is not exact.get(name):
                return False
        return self.signature.required <= given.keys()

    def _typed(self, given: dict[str, Any]) -> Any:
        signature = self.signature
        known = _convert(given, signature.struct, self.kinds)
        if signature.extras is UNSET:
            return known
        arguments = _said(known)
        for name in given.keys() - signature.types.keys():
            try:
                arguments[name] = _convert(given[name], signature.extras, self.kinds)
            except ValidationError as error:
                path, problem = _place(str(error))
                raise PayloadError(f"{self.task}.{name}{path}", problem) from None
        return arguments

    def _mistaken(self, given: dict[str, Any], text: str) -> PayloadError:
        types = self.signature.types
        if missing := self.signature.required - given.keys():
            name = min(missing)
            return PayloadError(f"{self.task}.{name}", f"is missing: it takes {types[name]}")
        if self.signature.extras is UNSET and (extra := given.keys() - types.keys()):
            name = min(extra)
            near = did_you_mean(name, types)
            problem = f"is not an argument{near}: write {self.signature.text}"
            return PayloadError(f"{self.task}.{name}", problem)
        path, problem = _place(text)
        name = path[1:]
        if name in given and name in types:
            wrong = problem.startswith("expected") and ", got" in problem
            got = type(given[name]).__name__
            takes = f"takes {types[name]}"
            problem = f"{takes}, got {got}" if wrong else f"{takes}: {problem}"
        return PayloadError(self.task + path, problem)

    def _is_plain(self, given: dict[str, Any]) -> bool:
        loose = self.signature.loose
        return not loose or fault.is_plain(v for n, v in given.items() if self._is_loose(n))

    def _is_loose(self, name: str) -> bool:
        place = name if name in self.signature.types else EXTRAS
        return place in self.signature.loose

    def _look(self, given: dict[str, Any]) -> None:
        for name, value in given.items():
            if found := fault.find(value, self.kinds, plain=self._is_loose(name)):
                raise PayloadError(f"{self.task}.{name}{_cut(found[0])}", found[1])


def _convert(given: Any, into: Any, kinds: Kinds) -> Any:
    return msgspec.convert(given, into, builtin_types=_AS_THEY_ARE, dec_hook=kinds.from_plain)


def _said(arguments: Any) -> dict[str, Any]:
    return {name: v for name, v in asdict(arguments).items() if v is not UNSET}


def _reader(
    task: str, signature: Signature, kinds: Kinds, decode: Callable[[Raw], Any]
) -> Callable[[Raw], Call]:

    def read(raw: Raw) -> Any:
        try:
            return decode(raw)
        except _UNREADABLE as error:
            raise _unread(task, signature, raw, error) from None

    if signature.only_positional or signature.extras is not UNSET:
        return _thorough_reader(task, signature, kinds, read)
    if not signature.types:
        return lambda raw: ((), {}) if raw == b"{}" else ((), _said(read(raw)))
    if signature.required == signature.types.keys():
        return lambda raw: ((), asdict(read(raw)))
    return lambda raw: ((), _said(read(raw)))


def _thorough_reader(
    task: str, signature: Signature, kinds: Kinds, read: Callable[[Raw], Any]
) -> Callable[[Raw], Call]:
    takes_extras = signature.extras is not UNSET
    every = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    extra = msgspec.json.Decoder(
        signature.extras if takes_extras else Any, dec_hook=kinds.from_plain
    ).decode

    def call(raw: Raw) -> Call:
        kwargs = _said(read(raw))
        args = tuple(kwargs.pop(name, default) for name, default in signature.only_positional)
        if takes_extras:
            for name, value in every(raw).items():
                if name not in signature.types:
                    try:
                        kwargs[name] = extra(value)
                    except _UNREADABLE as error:
                        raise _unread(task, signature, raw, error, at=f".{name}") from None
        return args, kwargs

    return call


def _unread(
    task: str, signature: Signature, raw: Raw, error: Exception, at: str = ""
) -> PayloadError:
    try:
        payload = msgspec.json.decode(raw)
    except _UNREADABLE as broken:
        return PayloadCorrupt(
            task, f"has a payload of {len(raw):,} bytes that is no JSON: {_kind(broken)}"
        )
    if not isinstance(payload, dict):
        return PayloadCorrupt(task, "has a payload that is no JSON object of arguments by name")
    path, problem = _place(str(error))
    names = list(payload)[:_NAMES_SHOWN]
    brought = ", ".join(f"{name}: {type(payload[name]).__name__}" for name in names)
    both = f"the payload brings ({brought}), the code here is {signature.text}"
    return PayloadMismatch(task + at + path, f"{problem}; {both}")


def _place(text: str) -> tuple[str, str]:
    """msgspec's message as path and problem, without the value it may quote."""
    problem, _, place = text.rpartition(" - at ")
    if not problem:
        problem, place = text, ""
    problem = _WITH_VALUE.sub(r"\1", problem[:1].lower() + problem[1:])
    if place.startswith("`key`"):
        place, problem = place.removeprefix("`key` in "), f"has a key that is none: {problem}"
    return place.strip("`").removeprefix("$"), problem


def _cut(path: str) -> str:
    return path if len(path) <= _PATH_SHOWN else f"{path[:_PATH_SHOWN]}…"


def _kind(error: Exception) -> str:
    return type(error).__name__
