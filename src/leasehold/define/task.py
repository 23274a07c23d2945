"""A function that has been given a name, options and a way to run."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from leasehold.define import bounds
from leasehold.define.options import Options
from leasehold.errors import DefinitionError, OptionError

NAME_MOST: Final = 200
RUNS: Final = ("async", "thread", "process")

Run = Literal["async", "thread", "process"]


class ArgumentCodec(Protocol):
    """Arguments and results of one function ⇄ JSON."""

    def encode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes: ...

    @property
    def decode_call(self) -> "Callable[[Raw], tuple[tuple[Any, ...], dict[str, Any]]]": ...

    def encode_result(self, value: Any) -> tuple[bytes | None, str | None]: ...

    def decode_result(self, raw: "Raw | None") -> Any: ...


Raw = bytes | bytearray | memoryview | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    name: str
    function: Callable[..., Any]
    codec: ArgumentCodec
    options: Options
    run: Run
    exclusive: bool = False  # stops itself before its lease can end
    doc: str = ""

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        *,
        codec_of: Callable[[Callable[..., Any], str], ArgumentCodec],
        name: str | None = None,
        options: Options | None = None,
        run: Run | None = None,
        exclusive: bool = False,
    ) -> "Definition":
        """The door: `codec_of(function, task's name)` reads the signature."""
        named = bounds.text("name", _name(function) if name is None else name, NAME_MOST)
        if not isinstance(exclusive, bool):
            raise OptionError("exclusive", f"takes True or False, got {bounds.given(exclusive)}")
        return cls(
            name=named,
            function=function,
            codec=codec_of(function, named),
            options=options or Options(),
            run=_run(function, named, run),
            exclusive=exclusive,
            doc=inspect.getdoc(function) or "",
        )


def _name(function: Callable[..., Any]) -> str:
    if not callable(function):
        raise OptionError("task", f"takes a function, got {bounds.given(function)}")
    name = getattr(function, "__name__", "<no name>")
    if name.startswith("<"):
        raise DefinitionError(name, "has no name to be found by: write @app.task(name='…')")
    return str(name)


def _run(function: Callable[..., Any], task: str, run: Run | None) -> Run:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise DefinitionError(
            task, "is a generator, whose body nobody would run: return a list, or save its pieces"
        )
    coroutine = is_async(function)
    if run is None:
        return "async" if coroutine else "thread"
    bounds.one_of("run", run, RUNS)
    if run == "async" and not coroutine:
        raise DefinitionError(
            task, "is no async function, and would block all others: write run='thread'"
        )
    if run == "thread" and coroutine:
        raise DefinitionError(task, "is an async function: leave run= out, or write run='process'")
    return run


def is_async(function: Callable[..., Any]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose call is async
    )
