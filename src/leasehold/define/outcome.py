"""How a handler ends its run other than by result or error: return one of these, or raise it."""

from datetime import datetime
from enum import Enum
from typing import Any, Final, Literal

from leasehold.define import bounds
from leasehold.errors import OptionError

REMARK_MOST: Final = 16_384


class Unset(Enum):
    """Tells "not said" from None, which is a state like any other."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET


class Outcome(Exception):
    """The common root; not an error of ours, so `except LeaseholdError` lets it pass."""


class TryAgain(Outcome):
    """Failed for now: counts an attempt. Without a delay the retry rule says how long to wait."""

    def __init__(self, delay: Any = None, reason: str = "") -> None:
        self.delay = None if delay is None else _delay("TryAgain.delay", delay)
        self.reason = bounds.remark("TryAgain.reason", reason, REMARK_MOST)
        super().__init__(self.reason)


class Snooze(Outcome):
    """Not now: comes back after the delay, and no attempt is used up."""

    def __init__(self, delay: Any) -> None:
        self.delay = _delay("Snooze.delay", delay)
        super().__init__(f"for {self.delay:g} s")


class Cancel(Outcome):
    """The work is not wanted any more: the job ends cancelled."""

    def __init__(self, reason: str = "") -> None:
        self.reason = bounds.remark("Cancel.reason", reason, REMARK_MOST)
        super().__init__(self.reason)


class Fail(Outcome):
    """Trying again would not help: the job ends failed at once, and the reason is for people."""

    def __init__(self, reason: str = "") -> None:
        self.reason = bounds.remark("Fail.reason", reason, REMARK_MOST)
        super().__init__(self.reason)


class SendOn(Outcome):
    """This run is over and the job goes on: elsewhere, later, or with another state.

    What is left out stays as it is; `state=None` and `metadata=None` take them away.
    """

    def __init__(
        self,
        *,
        queue: str | None = None,
        priority: int | None = None,
        delay: Any = None,
        run_at: datetime | None = None,
        state: Any | Literal[Unset.UNSET] = UNSET,
        metadata: Any | Literal[Unset.UNSET] = UNSET,
    ) -> None:
        if delay is not None and run_at is not None:
            raise OptionError("SendOn.delay", "and run_at were both said: say one of them")
        self.queue = (
            None if queue is None else bounds.text("SendOn.queue", queue, bounds.QUEUE_MOST)
        )
        self.priority = None if priority is None else bounds.priority("SendOn.priority", priority)
        self.delay = None if delay is None else _delay("SendOn.delay", delay)
        self.run_at = None if run_at is None else bounds.moment("SendOn.run_at", run_at)
        self.state, self.metadata = state, metadata
        super().__init__(f"to {self.queue}" if self.queue else "")


def _delay(option: str, value: Any) -> float:
    return bounds.seconds(option, value, 0.0, bounds.DELAY_MOST)
