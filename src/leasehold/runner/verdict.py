"""What the end of a run means for its job: pure functions of its task's rules and what it did."""

from typing import Any, Final
from uuid import UUID

import msgspec

from leasehold.define.outcome import UNSET, Cancel, Fail, SendOn, Snooze, TryAgain
from leasehold.define.retry import Retry
from leasehold.define.task import Definition
from leasehold.errors import PayloadError, ResultNotStored
from leasehold.payloads.failure import describe_error

_DEFAULT: Final = Retry()
NOT_STORED: Final = ResultNotStored.__name__


class TimedOut(Exception):
    """The attempt took longer than its timeout."""


def failed(
    definition: Definition, error: BaseException, attempt: int, most: int | None, luck: float
) -> dict[str, Any]:
    """By the task's retry rule: again after a while, or for good."""
    rule = definition.options.retry or _DEFAULT
    allowed = most if most is not None else definition.options.attempts_allowed
    described = describe_error(error)
    if isinstance(error, TryAgain):
        described["type"] = "TryAgain"
        again, delay = attempt < allowed, error.delay
    else:
        again, delay = attempt < allowed and rule.retries(error), None
    if again:
        return {
            "outcome": "retried",
            "error": described,
            "delay": rule.delay_before(attempt, luck) if delay is None else delay,
        }
    return {"outcome": "failed", "error": described}


def judged(
    definition: Definition, error: BaseException, attempt: int, most: int | None, luck: float
) -> dict[str, Any]:
    """The end of a run that did not plainly succeed."""
    try:
        if asked := chosen(definition, error):
            return asked
    except PayloadError as unkept:
        error = unkept
    return failed(definition, error, attempt, most, luck)


def chosen(definition: Definition, outcome: BaseException) -> dict[str, Any] | None:
    """What a handler asked for by an outcome; None where it is a failure to be judged."""
    match outcome:
        case Snooze(delay=delay):
            return {"outcome": "snoozed", "delay": delay}
        case Cancel(reason=reason):
            return {
                "outcome": "cancelled",
                "error": {"type": "Cancelled", "message": reason or "by its own function"},
            }
        case Fail(reason=reason):
            return {"outcome": "failed", "error": {"type": "Fail", "message": reason}}
        case SendOn():
            keeps = [name for name in ("state", "metadata") if getattr(outcome, name) is not UNSET]
            said = {
                "queue": outcome.queue,
                "priority": outcome.priority,
                "delay": outcome.delay,
                "run_at": outcome.run_at,
            }
            return {
                "outcome": "sent_on",
                **{name: value for name, value in said.items() if value is not None},
                **({"keeps": keeps} if keeps else {}),
                **{
                    name: kept(definition, f"SendOn.{name}", getattr(outcome, name))
                    for name in keeps
                },
            }
        case _:
            return None


def kept(definition: Definition, where: str, value: Any) -> Any:
    """What a job keeps for its next run, as JSON; PayloadError where it cannot."""
    raw, problem = definition.codec.encode_result(value)
    if problem:
        path = f"{definition.name}: {where}"
        raise PayloadError(path, f"cannot be kept: its {problem.removeprefix('result ')}")
    return None if raw is None else msgspec.Raw(raw)


def kept_nothing(problem: str) -> dict[str, Any]:
    """It succeeded, whatever is wrong with what it brought."""
    return {"outcome": "succeeded", "error": {"type": NOT_STORED, "message": problem}}


def expired() -> dict[str, Any]:
    """Its deadline passed while it ran."""
    message = "its deadline passed while it ran"
    return {"outcome": "expired", "error": {"type": "Expired", "message": message}}


def released() -> dict[str, Any]:
    """The runner stops: another one runs it from the start."""
    return {"outcome": "released"}


def lost() -> dict[str, Any]:
    """Somebody else has the job: whatever its function did here, nothing is said of it."""
    return {"outcome": "lost"}


def stopped(reason: str) -> dict[str, Any]:
    """Its code has stopped because somebody wanted it to."""
    return {"outcome": "cancelled", "error": {"type": "Cancelled", "message": reason}}


def named(document: dict[str, Any], job: bytes, claim_no: int, run_ms: int) -> dict[str, Any]:
    return {"job": UUID(bytes=job), "claim": claim_no, "run_ms": run_ms, **document}
