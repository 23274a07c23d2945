"""What a runner has claimed and not begun."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple
from uuid import UUID

from leasehold.errors import LeaseholdError
from leasehold.runner.finisher import Finisher
from leasehold.store import connect, verbs
from leasehold.store.call import Call

log = logging.getLogger("leasehold.runner")


class Claimed(NamedTuple):
    """A job as claim hands it out; times are µs since 2000, by the database's clock."""

    bundle: int
    id: bytes
    claim_no: int
    queue: str
    task: str
    payload: bytes
    attempts: int
    interrupted: int
    priority: int
    turn: int
    deadline: int | None
    timeout: float | None
    max_attempts: int | None
    tenant: str | None
    headers: bytes | None
    came: int

    @property
    def uuid(self) -> UUID:
        return UUID(bytes=self.id)


class Backlog:
    def __init__(
        self, number: int, finisher: Finisher, ask: Callable[[Call[Any]], Awaitable[Any]]
    ) -> None:
        self.number, self._finisher, self._ask = number, finisher, ask
        self._jobs: deque[Claimed] = deque()

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, jobs: Iterable[Claimed]) -> None:
        self._jobs.extend(jobs)

    def take(self) -> Claimed:
        return self._jobs.popleft()

    def take_one(self, job: bytes, claim_no: int) -> Claimed | None:
        """This very claim, where it is still here."""
        for claimed in self._jobs:
            if claimed.id == job and claimed.claim_no == claim_no:
                self._jobs.remove(claimed)
                return claimed
        return None

    def lose(self, bundles: set[int]) -> None:
        """Somebody else has these now: there is nothing to give back."""
        self._jobs = deque(claimed for claimed in self._jobs if claimed.bundle not in bundles)

    async def give_back(self, before: int | None = None) -> None:
        """What came before that time, or all: unharmed, and uncounted as attempts."""
        jobs: list[Claimed] = []
        while self._jobs and (before is None or self._jobs[0].came < before):
            jobs.append(self._jobs.popleft())
        if not jobs:
            return
        bundles = sorted({claimed.bundle for claimed in jobs})
        ids = connect.Ids([claimed.id for claimed in jobs])
        claims = connect.Numbers([claimed.claim_no for claimed in jobs])
        try:
            await self._ask(verbs.release(self.number, bundles, ids, claims))
        except (LeaseholdError, connect.Error):
            text = "%d claimed jobs could not be given back: their lease ends by itself"
            log.warning(text, len(jobs))
        for claimed in jobs:
            self._finisher.left(claimed.bundle)
