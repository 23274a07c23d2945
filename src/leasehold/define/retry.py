"""When a failed run is tried again: which errors, how often, how long in between."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from typing import Any, Final, Literal

from leasehold.define import bounds
from leasehold.errors import OptionError

LONGEST: Final = 30 * bounds.DAY
MOST_STEPS: Final = 1_000
_DOUBLINGS: Final = 64  # 2**64 seconds is past every cap, and far from the largest float
_KINDS: Final = ("exponential", "quadratic", "fixed")

Kind = Literal["exponential", "quadratic", "fixed"]
Backoff = Kind | list[float] | tuple[float, ...] | Callable[[int], float]
Sorted = Literal["transient", "terminal", "unknown"]
Sorter = type[BaseException] | Callable[[BaseException], bool]


@dataclass(frozen=True, slots=True)
class Retry:
    """The policy. `backoff` is a kind, the seconds of each wait in turn, or a function of attempt.

    An error is sorted by `terminal` and `transient`, which hold classes and functions that answer
    yes or no: functions are asked first, then the class nearest to the error's own decides.
    """

    max_attempts: int = 5
    _: KW_ONLY
    backoff: Backoff = "exponential"
    base: float = 5.0
    cap: float = 3600.0
    jitter: float = 0.1
    transient: tuple[Sorter, ...] = ()
    terminal: tuple[Sorter, ...] = ()
    unknown: Literal["retry", "fail"] = "retry"

    def __post_init__(self) -> None:
        cap = bounds.above_zero("Retry.cap", self.cap, LONGEST)
        base = bounds.seconds("Retry.base", self.base, 0.0, LONGEST)
        if base > cap:
            raise OptionError("Retry.base", f"is above the cap of {cap:g} s: raise cap=")
        checked = {
            "max_attempts": bounds.whole(
                "Retry.max_attempts", self.max_attempts, 1, bounds.LARGEST
            ),
            "cap": cap,
            "base": base,
            "backoff": _backoff(self.backoff, cap),
            "jitter": bounds.number("Retry.jitter", self.jitter, 0.0, 1.0),
            "transient": _sorters("Retry.transient", self.transient),
            "terminal": _sorters("Retry.terminal", self.terminal),
            "unknown": bounds.one_of("Retry.unknown", self.unknown, ("retry", "fail")),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def delay_before(self, attempt: int, luck: float) -> float:
        """Seconds to wait once `attempt` attempts have failed; `luck` from 0 to 1 spreads them."""
        plain = self._plain(max(attempt, 1))
        return min(max(plain * (1.0 + self.jitter * (2.0 * luck - 1.0)), 0.0), self.cap)

    def _plain(self, attempt: int) -> float:
        match self.backoff:
            case "exponential":
                return min(math.ldexp(self.base, min(attempt - 1, _DOUBLINGS)), self.cap)
            case "quadratic":
                return min(self.base * attempt * attempt, self.cap)
            case "fixed":
                return self.base
            case [*steps]:
                return float(steps[min(attempt, len(steps)) - 1])
            case rule:
                return self._ruled(rule, attempt)

    def _ruled(self, rule: Callable[[int], Any], attempt: int) -> float:
        try:
            wait = rule(attempt)
            plain = float(wait.total_seconds() if isinstance(wait, timedelta) else wait)
        except Exception:  # noqa: BLE001 - a broken rule must not cost the job its retry
            return self.cap
        return self.cap if math.isnan(plain) else min(max(plain, 0.0), self.cap)

    def sort(self, error: BaseException) -> Sorted:
        if isinstance(error, BaseExceptionGroup):
            return self._sort_group(error)
        for kind, sorters in (("terminal", self.terminal), ("transient", self.transient)):
            if any(_says_yes(sorter, error) for sorter in sorters):
                return kind  # type: ignore[return-value]  # mypy widens the tuple's literals
        for cls in type(error).__mro__:
            if cls in self.terminal:
                return "terminal"
            if cls in self.transient:
                return "transient"
        return "unknown"

    def _sort_group(self, group: BaseExceptionGroup[BaseException]) -> Sorted:
        """One terminal member ends the job; only members that all pass by make the group pass."""
        kinds = {self.sort(member) for member in group.exceptions}
        if "terminal" in kinds:
            return "terminal"
        return "transient" if kinds == {"transient"} else "unknown"

    def retries(self, error: BaseException) -> bool:
        kind = self.sort(error)
        return kind == "transient" or (kind == "unknown" and self.unknown == "retry")


def _backoff(value: Any, cap: float) -> Backoff:
    if isinstance(value, list | tuple):
        return _steps(value, cap)
    if callable(value):
        rule: Callable[[int], float] = value
        return rule
    if isinstance(value, str):
        return bounds.one_of("Retry.backoff", value, _KINDS)  # type: ignore[return-value]  # one of the kinds
    problem = (
        f"takes {', '.join(_KINDS)}, a list of seconds or a function, got {bounds.given(value)}"
    )
    raise OptionError("Retry.backoff", problem)


def _steps(value: list[Any] | tuple[Any, ...], cap: float) -> tuple[float, ...]:
    if not 1 <= len(value) <= MOST_STEPS:
        raise OptionError("Retry.backoff", f"has {len(value)} steps: write 1 to {MOST_STEPS}")
    steps = tuple(
        bounds.seconds(f"Retry.backoff[{n}]", step, 0.0, LONGEST) for n, step in enumerate(value)
    )
    for n, step in enumerate(steps):
        if step > cap:
            raise OptionError(f"Retry.backoff[{n}]", f"is above the cap of {cap:g} s: raise cap=")
    return steps


def _sorters(option: str, value: Any) -> tuple[Sorter, ...]:
    listed = tuple(value) if isinstance(value, list | tuple | set | frozenset) else (value,)
    for sorter in listed:
        if isinstance(sorter, type) and not issubclass(sorter, BaseException):
            raise OptionError(option, f"holds the class {sorter.__name__}, which is no exception")
        if not callable(sorter):
            problem = (
                f"takes exception classes and functions of the error, got {bounds.given(sorter)}"
            )
            raise OptionError(option, problem)
    return listed


def _says_yes(sorter: Sorter, error: BaseException) -> bool:
    if isinstance(sorter, type):
        return False
    try:
        return bool(sorter(error))
    except Exception:  # noqa: BLE001 - a sorter that fails has no opinion
        return False
