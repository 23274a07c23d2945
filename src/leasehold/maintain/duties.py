"""What the leader does, as a table.

Every duty is one bounded verb, safe to run twice and by two leaders at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from leasehold.store import verbs
from leasehold.store.call import Call


@dataclass(frozen=True, slots=True)
class Duty:
    """Runs `every` seconds while it finds work; else ever more rarely, down to every `idle`."""

    name: str
    every: float
    idle: float
    call: Callable[[], Call[Any]]
    found: Callable[[Any], bool]  # was there something to do?
    # Seconds until there will be, where the answer tells.
    wait: Callable[[Any], float | None] = lambda _answer: None


ROWS: Final = 2_000
GROWN: Final = 1_000_000  # bytes of the open segment of ready from which its turn comes soon

DUTIES: Final = (
    Duty(
        "promote",
        0.05,
        1.0,
        lambda: verbs.promote(ROWS),
        lambda answer: answer[0] > 0,
        lambda answer: answer[1],
    ),
    Duty(
        "rotate",
        0.1,
        2.0,
        verbs.rotate,
        lambda answer: answer[:3] != (None, None, None) or answer[3] > GROWN,
    ),
    Duty("reap", 0.5, 2.0, lambda: verbs.reap(1_000), lambda jobs: jobs > 0),
    Duty("expire", 0.2, 2.0, lambda: verbs.expire(ROWS), lambda jobs: jobs > 0),
    Duty("unblock", 0.2, 2.0, lambda: verbs.unblock(ROWS), lambda jobs: jobs > 0),
    Duty("fold", 5.0, 30.0, lambda: verbs.fold(10_000), lambda rows: rows > 0),
    Duty("retain", 10.0, 60.0, lambda: verbs.retain(ROWS), lambda rows: rows > 0),
    Duty("partition", 3_600.0, 3_600.0, verbs.partition, lambda made: made > 0),
)
