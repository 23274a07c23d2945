"""The catalogue of events: one for each verb, told where it was sent, after it was answered.

    from leasehold.observe import event
    stop = event.listen(lambda happened: print(happened.verb, happened.seconds))

A listener that raises is logged and never in the way.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

log = logging.getLogger("leasehold.event")

EVENTS: Final[dict[str, str]] = {
    "beat": "the leases of a worker's runners were kept",
    "cancel": "jobs were cancelled, or their runs asked to stop",
    "claim": "a runner took jobs",
    "discard": "dead letters were thrown away",
    "dispatch": "jobs went to an outside transport",
    "enqueue": "jobs were stored",
    "enrol": "a worker came",
    "expire": "jobs ended because their deadline passed",
    "finish": "runs ended",
    "fold": "tally deltas became minutes",
    "hire": "a runner began",
    "hold": "a person held jobs",
    "lead": "a worker asked to lead",
    "leave": "a worker went",
    "partition": "days were made ahead",
    "promote": "jobs whose time had come became ready",
    "purge": "a tenant's jobs went, with all that was kept of them",
    "reap": "jobs of lost runners were taken back",
    "redrive": "dead letters were tried again",
    "release": "a runner gave jobs back",
    "resume": "a person let held jobs go",
    "retain": "what had had its time went",
    "retire": "a day was left by what still lives",
    "retire_rest": "stragglers of a detached day were kept",
    "retry": "ended jobs were opened again",
    "rotate": "the segments of ready took turns",
    "save": "jobs kept progress or state",
    "sleep": "an idle runner asked to be woken",
    "take": "a runner took dispatched jobs",
    "unblock": "jobs that waited for others became ready",
    "wake": "sleeping runners were woken",
    "watch": "somebody waits for jobs to end",
}


@dataclass(frozen=True, slots=True)
class Happened:
    """`answer` is what the verb's caller got."""

    verb: str
    answer: Any
    seconds: float


Listener = Callable[[Happened], None]
_listeners: list[Listener] = []


def listen(listener: Listener) -> Callable[[], None]:
    """Calls `listener` for every event from now on; call the answer to stop."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def began() -> float:
    """When a verb was sent; 0 while nobody listens, and then nothing is measured."""
    return time.monotonic() if _listeners else 0.0


def tell(verb: str, answer: Any, began_at: float) -> None:
    if not _listeners or verb not in EVENTS:
        return
    happened = Happened(verb, answer, time.monotonic() - began_at)
    for listener in _listeners.copy():  # a listener may stop itself
        try:
            listener(happened)
        except Exception:
            log.exception("a listener to events raised")
