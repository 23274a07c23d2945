"""The options of a job, said once: the decorator, `.using()` and the CLI fill this class."""

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from leasehold.define import bounds
from leasehold.define.retry import Retry
from leasehold.errors import OptionError

HEADERS_MOST: Final = 64
TAGS_MOST: Final = 64
_ONE_OF: Final = (("delay", "run_at"), ("deadline", "deadline_in"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """None is "not said here". Times are aware and in UTC, durations are seconds."""

    queue: str | None = None
    priority: int | None = None  # lower goes first
    delay: float | None = None
    run_at: datetime | None = None
    deadline: datetime | None = None  # not over by then: the job expires, also while it runs
    deadline_in: float | None = None  # the same, counted from the enqueue
    timeout: float | None = None  # of one attempt
    max_attempts: int | None = None  # for this job, over what `retry` says
    key: str | None = None
    tenant: str | None = None
    group: str | None = None
    tags: tuple[str, ...] | None = None
    id: str | None = None  # the caller's own, found again as the job's name
    hold: str | None = None  # enqueue it held, for this reason
    headers: dict[str, Any] | None = None
    retry: Retry | None = None

    @classmethod
    def checked(cls, **said: Any) -> "Options":
        """The door: what is unknown, mistyped or out of bounds is refused by name."""
        given: dict[str, Any] = {}
        for name, value in said.items():
            if (check := _CHECKS.get(name)) is None:
                near = bounds.did_you_mean(name, _CHECKS)
                known = "" if near else f"; known are {', '.join(_CHECKS)}"
                raise OptionError(name, f"is not an option{near}{known}")
            if value is not None:
                given[name] = check(value)
        for one, other in _ONE_OF:
            if one in given and other in given:
                raise OptionError(one, f"and {other} were both said: say one of them")
        if isinstance(given.get("deadline"), float):
            given["deadline_in"] = given.pop("deadline")
        return cls(**given)

    def over(self, base: "Options") -> "Options":
        """What is said here, and the rest from `base`."""
        said = {name: v for name in _NAMES if (v := getattr(self, name)) is not None}
        for pair in _ONE_OF:
            if said.keys() & pair:
                said = dict.fromkeys(pair) | said
        return replace(base, **said)

    @property
    def attempts_allowed(self) -> int:
        if self.max_attempts is not None:
            return self.max_attempts
        return (self.retry or Retry()).max_attempts


_NAMES: Final = tuple(field.name for field in fields(Options))


def _delay(value: Any) -> float:
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, int | float) and value < 0 and value != -math.inf:
        warnings.warn("delay is below 0: the job may run at once", stacklevel=4)
        value = 0.0
    return bounds.seconds("delay", value, 0.0, bounds.DELAY_MOST)


def _deadline(value: Any) -> datetime | float:
    if isinstance(value, datetime):
        return bounds.moment("deadline", value)
    if isinstance(value, bool) or not isinstance(value, int | float | timedelta):
        raise OptionError(
            "deadline", f"takes a datetime, seconds or a timedelta, got {bounds.given(value)}"
        )
    return bounds.above_zero("deadline", value, bounds.DELAY_MOST)


def _tags(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        raise OptionError("tags", f"takes a list of texts, got {bounds.given(value)}")
    if len(value) > TAGS_MOST:
        raise OptionError("tags", f"has {len(value)} entries: write at most {TAGS_MOST}")
    ordered = sorted(value) if isinstance(value, set | frozenset) else value
    return tuple(bounds.text(f"tags[{n}]", tag, 100) for n, tag in enumerate(ordered))


def _id(value: Any) -> str:
    return str(value) if isinstance(value, UUID) else bounds.text("id", value, 200)


def _headers(value: Any) -> dict[str, Any]:
    """For programs: flat, small, plain."""
    if not isinstance(value, dict):
        raise OptionError("headers", f"takes a dict, got {bounds.given(value)}")
    if len(value) > HEADERS_MOST:
        raise OptionError("headers", f"has {len(value)} entries: write at most {HEADERS_MOST}")
    return {
        bounds.text("headers, a name,", name, 100): _header(name, v) for name, v in value.items()
    }


def _header(name: str, value: Any) -> str | int | float | bool | None:
    where = f"headers[{name!r}]"
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return bounds.whole(where, value, -(2**63), 2**63 - 1)
    if isinstance(value, float):
        return bounds.number(where, value, -sys.float_info.max, sys.float_info.max)
    return "" if value == "" else bounds.text(where, value, 4_000)


def _retry(value: Any) -> Retry:
    if not isinstance(value, Retry):
        problem = f"takes a Retry, got {bounds.given(value)}: write Retry(max_attempts=5)"
        raise OptionError("retry", problem)
    return value


_CHECKS: Final[dict[str, Callable[[Any], Any]]] = {
    "queue": lambda value: bounds.text("queue", value, bounds.QUEUE_MOST),
    "priority": lambda value: bounds.priority("priority", value),
    "delay": _delay,
    "run_at": lambda value: bounds.moment("run_at", value),
    "deadline": _deadline,
    "deadline_in": lambda value: bounds.above_zero("deadline_in", value, bounds.DELAY_MOST),
    "timeout": lambda value: bounds.above_zero("timeout", value, 30 * bounds.DAY),
    "max_attempts": lambda value: bounds.whole("max_attempts", value, 1, bounds.LARGEST),
    "key": lambda value: bounds.text("key", value, 500),
    "tenant": lambda value: bounds.text("tenant", value, 63),
    "group": lambda value: bounds.text("group", value, 200),
    "tags": _tags,
    "id": _id,
    "hold": lambda value: bounds.remark("hold", value, 2_000),
    "headers": _headers,
    "retry": _retry,
}
