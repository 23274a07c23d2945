"""The life of a job as one table: which verb takes it from which rooms to which.

The diagram in the docs, the grants of each role and the random walk of the tests are read from it.
"""

from enum import Enum
from typing import Final


class Room(Enum):
    """Where a job is. NOTHING: not there yet, or gone; ENDED: history alone tells of it."""

    NOTHING = "nothing"
    READY = "ready"
    SCHEDULED = "scheduled"
    WAITING = "waiting"
    DISPATCHED = "dispatched"
    RUNNING = "running"
    DEAD = "dead"
    ENDED = "ended"


def _move(begin: set[Room], end: set[Room]) -> tuple[frozenset[Room], frozenset[Room]]:
    return frozenset(begin), frozenset(end)


_R = Room
_LATER: Final = {_R.READY, _R.SCHEDULED, _R.WAITING}
_UNCLAIMED: Final = _LATER | {_R.DISPATCHED}
_OVER: Final = {_R.DEAD, _R.ENDED}

MOVES: Final[dict[str, tuple[frozenset[Room], frozenset[Room]]]] = {
    # verb: (from any of, to any of). Where somebody asked a running job to stop, whatever
    # would have gone on ends instead: so release and reap lead there too.
    "enqueue": _move({_R.NOTHING}, _LATER),
    "claim": _move({_R.READY}, {_R.RUNNING}),
    "dispatch": _move({_R.READY}, {_R.DISPATCHED}),
    "take": _move({_R.DISPATCHED}, {_R.RUNNING}),
    "finish": _move({_R.RUNNING}, _LATER | _OVER),
    "release": _move({_R.RUNNING}, {_R.READY, _R.SCHEDULED, _R.ENDED}),
    "reap": _move({_R.RUNNING, _R.DISPATCHED}, {_R.READY} | _OVER),
    "promote": _move({_R.SCHEDULED}, {_R.READY}),
    "unblock": _move({_R.WAITING}, {_R.READY, _R.SCHEDULED}),
    "hold": _move({_R.READY, _R.SCHEDULED}, {_R.WAITING}),
    "resume": _move({_R.WAITING}, {_R.READY, _R.SCHEDULED}),
    "expire": _move(_UNCLAIMED, {_R.ENDED}),
    "cancel": _move(_UNCLAIMED, {_R.ENDED}),  # of a running job it is a request, and finish moves
    "retry": _move(_OVER, {_R.READY}),
    "redrive": _move({_R.DEAD}, {_R.READY}),
    "discard": _move({_R.DEAD}, {_R.NOTHING}),
}

STATES: Final = (  # of a job, as the view leasehold.jobs and people name them
    "waiting",
    "scheduled",
    "ready",
    "dispatched",
    "assigned",  # claimed, not begun
    "running",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
)
