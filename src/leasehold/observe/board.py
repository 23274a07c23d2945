"""What a runner shows of itself in shared memory, readable when it is blocked or dead.

tick  8 bytes   CLOCK_MONOTONIC of the loop's last turn, a double
slots 16 bytes  each the id of the job that runs in it, or zeros
"""

import mmap
import struct
import time
from typing import Final
from uuid import UUID

_TICK: Final = struct.Struct("d")
_ID: Final = 16
_NONE: Final = bytes(_ID)


class Board:
    """`memory` is an mmap shared with the supervisor, or plain bytes in the one-process form."""

    def __init__(self, memory: mmap.mmap | bytearray, slots: int) -> None:
        self.memory, self.slots = memory, slots

    @staticmethod
    def size(slots: int) -> int:
        return _TICK.size + slots * _ID

    def tick(self) -> None:
        _TICK.pack_into(self.memory, 0, time.monotonic())

    def age(self) -> float:
        """Seconds since the loop last turned; 0 before it began."""
        (last,) = _TICK.unpack_from(self.memory, 0)
        return time.monotonic() - last if last else 0.0

    def begin(self, slot: int, job: bytes) -> None:
        at = _TICK.size + slot * _ID
        self.memory[at : at + _ID] = job

    def end(self, slot: int) -> None:
        at = _TICK.size + slot * _ID
        self.memory[at : at + _ID] = _NONE

    def begun(self) -> list[UUID]:
        shown = bytes(self.memory[_TICK.size : self.size(self.slots)])
        ids = (shown[at : at + _ID] for at in range(0, len(shown), _ID))
        return [UUID(bytes=found) for found in ids if found != _NONE]
