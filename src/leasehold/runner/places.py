"""Where jobs of one kind run: the loop, the threads, the processes. Each has so many places."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from leasehold.define.task import Definition

if TYPE_CHECKING:
    from leasehold.runner.backlog import Claimed

CLAIM_MOST: Final = 500  # jobs in one statement
AHEAD: Final = 0.1  # seconds of work that may lie here claimed and not begun


class Places:
    """`waiting` are jobs claimed and not begun: one that has no place has not begun."""

    def __init__(self, tasks: Iterable[str], most: int) -> None:
        self.tasks, self.most = sorted(tasks), most
        self.waiting: deque[Claimed] = deque()
        self.busy = 0
        self.counted = 0  # jobs ended since the last look
        self.marks: str | None = None  # of the claims for these tasks: see claim.sql
        self._rate = 0.0  # jobs ended in a second

    def look(self, seconds: float) -> None:
        self._rate = 0.5 * self._rate + 0.5 * self.counted / seconds
        self.counted = 0

    def free(self, room: int) -> int:
        """How many of those claimed next would begin at once, where the runner has `room`."""
        return min(self.most - self.busy, room) - len(self.waiting)

    def wanted(self, room: int) -> int:
        """How many to claim: as many as begin at once, and some ahead where jobs are short."""
        most = min(self.most, self.busy + room)
        short = self.busy >= most or self._rate > self.most
        ahead = int(self._rate * AHEAD) if short else 0
        return min(self.free(room) + ahead, CLAIM_MOST)


def places_of(tasks: Mapping[str, Definition], most: Mapping[str, int]) -> dict[str, Places]:
    """By task; those of one kind share theirs."""
    names: dict[str, list[str]] = {}
    for name, definition in tasks.items():
        names.setdefault(definition.run, []).append(name)
    shared = {kind: Places(some, most[kind]) for kind, some in sorted(names.items())}
    return {name: shared[definition.run] for name, definition in tasks.items()}
