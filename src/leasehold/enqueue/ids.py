"""Job ids made on this side, from database time.

An enqueue whose answer was lost is sent again with the same id, and stored once.
"""

import os
import struct
import time
from uuid import UUID

EPOCH_2000 = 946_684_800_000_000  # microseconds from 1970, where UUIDv7 counts from
_LUCK = 0x3F00_FFFF_FFFF_FFFF  # the random bits; the eight between are the shard, 00
_VARIANT = 0x8000_0000_0000_0000
_SET_BACK = 60_000 * 4096  # a minute; measured twice, the clocks differ by milliseconds
STALE = 60.0  # seconds after which the distance to the database's clock is measured anew


class Ids:
    """UUIDv7 in rising order.

    48 bits of milliseconds, 12 bits of their fraction, eight bits of shard, the rest random.
    """

    def __init__(self) -> None:
        self._offset = 0
        self._measured = float("-inf")
        self._last = 0

    @property
    def stale(self) -> bool:
        return time.monotonic() - self._measured > STALE

    def measured(self, database_microseconds: int) -> None:
        now = time.monotonic()
        # In this order: another thread that finds it measured makes ids from the offset.
        self._offset = database_microseconds + EPOCH_2000 - int(now * 1e6)
        self._measured = now
        if self._last - self._ticks() > _SET_BACK:
            self._last = 0  # else the ids would stay in what is now the future, and be refused

    def doubted(self) -> None:
        """The database's clock is elsewhere: it is measured before the next id is made."""
        self._measured = float("-inf")

    def now(self) -> int:
        """The database's time in microseconds since 1970, as far as we know."""
        return int(time.monotonic() * 1e6) + self._offset

    def make(self, count: int) -> list[UUID]:
        luck = os.urandom(8 * count)
        first = max(self._ticks(), self._last + 1)
        self._last = first + count - 1
        chances = struct.unpack(f"!{count}Q", luck)
        return [
            UUID(
                int=((ticks >> 12) << 80)
                | 0x7000_0000_0000_0000_0000
                | ((ticks & 0xFFF) << 64)
                | (chance & _LUCK)
                | _VARIANT
            )
            for ticks, chance in zip(range(first, first + count), chances, strict=True)
        ]

    def _ticks(self) -> int:
        """In 1/4096 of a millisecond."""
        return self.now() * 4096 // 1000
