"""What a runner has claimed and not begun."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from leasehold.errors import LeaseholdError
from leasehold.runner.finisher import Finisher
from leasehold.runner.places import Places
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
    """Each job waits among those of its kind, so that a full kind does not keep the others."""

    def __init__(
        self,
        number: int,
        finisher: Finisher,
        ask: Callable[[Call[Any]], Awaitable[Any]],
        places: Mapping[str, Places],
    ) -> None:
        self.number, self._finisher, self._ask = number, finisher, ask
        self._places = places
        self.kinds = list(dict.fromkeys(places.values()))

    def __len__(self) -> int:
        return sum(len(kind.waiting) for kind in self.kinds)

    def add(self, jobs: Iterable[Claimed]) -> None:
        for claimed in jobs:
            self._places[claimed.task].waiting.append(claimed)

    def begin(self) -> Claimed | None:
        """The first that has a place, which is taken with it."""
        first: Places | None = None
        for kind in self.kinds:
            able = kind.waiting and kind.busy < kind.most
            if able and (first is None or kind.waiting[0].came < first.waiting[0].came):
                first = kind
        if first is None:
            return None
        first.busy += 1
        return first.waiting.popleft()

    def end(self, claimed: Claimed) -> None:
        """What was begun has ended: its place is free."""
        kind = self._places[claimed.task]
        kind.busy -= 1
        kind.counted += 1

    def take_one(self, job: bytes, claim_no: int) -> Claimed | None:
        """This very claim, where it is still here."""
        for kind in self.kinds:
            for claimed in kind.waiting:
                if claimed.id == job and claimed.claim_no == claim_no:
                    kind.waiting.remove(claimed)
                    return claimed
        return None

    def lose(self, bundles: set[int]) -> None:
        """Somebody else has these now: there is nothing to give back."""
        for kind in self.kinds:
            kind.waiting = deque(one for one in kind.waiting if one.bundle not in bundles)

    async def give_back(self, before: int | None = None) -> None:
        """What came before that time, or all: unharmed, and uncounted as attempts."""
        jobs: list[Claimed] = []
        for kind in self.kinds:
            while kind.waiting and (before is None or kind.waiting[0].came < before):
                jobs.append(kind.waiting.popleft())
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
