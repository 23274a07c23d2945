"""Steppers where they are needed: one for the event loop that asks, or one with a loop of its own.

None of them leaves anything on a loop behind, so that all are closed from outside of it: a fixture,
or a plain `with` in an async test.
"""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from leasehold.app import App
from leasehold.store.refusal import RunnerDead
from leasehold.testing.stepper import Stepper

T = TypeVar("T")

TRIES: Final = 3
TAKEN: Final = "somebody takes the lease away, again and again"


class Stepping:
    """Opens by itself, closes with `close`."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._stepper: Stepper | None = None
        self._own: asyncio.Runner | None = None

    async def ready(self) -> Stepper:
        """The stepper of the running loop, and what time moves has been moved."""
        for _ in range(TRIES):
            stepper = self._here()
            if await stepper.time_passes():
                return stepper
            self._leave()
        raise RunnerDead(TAKEN)

    def _here(self) -> Stepper:
        if self._stepper and self._stepper.loop is not asyncio.get_running_loop():
            self._leave()
        if self._stepper is None:
            self._stepper = Stepper(self.app, self.app.open_sync())
        return self._stepper

    def _leave(self) -> None:
        stepper, self._stepper = self._stepper, None
        if stepper is not None:
            stepper.leave()

    def sync(self, question: Coroutine[Any, Any, T]) -> T:
        """On a loop of our own, which turns only while somebody waits here."""
        if self._own is None:
            self._own = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        own, context = self._own, contextvars.copy_context()
        return _aside(lambda: own.run(question, context=context))

    def close(self) -> None:
        self._leave()
        own, self._own = self._own, None
        if own is not None:
            _aside(lambda: self._close(own))

    def _close(self, own: asyncio.Runner) -> None:
        """The app too may have been used there, by jobs that enqueue."""
        own.run(self.app.leave_loop())
        own.close()


def _aside(question: Callable[[], T]) -> T:
    """Two loops cannot turn in one thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return question()
    with ThreadPoolExecutor(1, thread_name_prefix="leasehold-step") as aside:
        return aside.submit(question).result()
