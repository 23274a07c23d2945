"""Ends of runs, counted where they happen: the heartbeat takes them along."""

from typing import Any


class Tally:
    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], list[int]] = {}

    def add(self, queue: str, task: str, outcome: str, run_ms: int, wait_ms: int) -> None:
        key = (queue, task, outcome)
        count = self._counts.get(key)
        if count is None:
            count = self._counts[key] = [0, 0, 0]
        count[0] += 1
        count[1] += run_ms
        count[2] += wait_ms

    def take(self) -> list[dict[str, Any]]:
        """All since the last time; callable from any thread."""
        counts, self._counts = self._counts, {}
        columns = ("queue", "task", "outcome", "n", "run_ms", "wait_ms")
        return [dict(zip(columns, (*key, *n), strict=True)) for key, n in counts.items()]
