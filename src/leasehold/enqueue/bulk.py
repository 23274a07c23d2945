"""Many jobs in one call: COPY in chunks, so that WAL and replicas keep up and one statement never grows without bound."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from leasehold.enqueue import accept
from leasehold.errors import EnqueueRefused, LeaseholdError

CHUNK: Final = 10_000
SHOWN: Final = 20


class BadRows(EnqueueRefused):
    """Some of many rows cannot be enqueued: the first twenty are named by index. Nothing was enqueued."""

    def __init__(self, problems: list[tuple[int, str]], total: int) -> None:
        self.problems, self.total = problems, total
        shown = "\n".join(f"  [{index}] {problem}" for index, problem in problems[:SHOWN])
        more = f"\n  … and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        super().__init__(f"{len(problems)} of {total} jobs are refused, nothing was enqueued:\n{shown}{more}")


def rows(make: Callable[[Any], accept.Row], given: Iterable[Any]) -> list[accept.Row]:
    """Checks all before anything is written."""
    made: list[accept.Row] = []
    problems: list[tuple[int, str]] = []
    total = 0
    for index, arguments in enumerate(given):
        total += 1
        try:
            made.append(make(arguments))
        except LeaseholdError as error:
            problems.append((index, str(error)))
    if problems:
        raise BadRows(problems, total)
    return made


def chunks(made: list[accept.Row]) -> Iterator[list[accept.Row]]:
    for start in range(0, len(made), CHUNK):
        yield made[start : start + CHUNK]
