"""The people's verbs: retry, cancel, hold, resume, discard; and many dead jobs at once."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from leasehold.errors import JobError, LeaseholdError
from leasehold.operate import find
from leasehold.operate.ask import Ask
from leasehold.store import reads, verbs
from leasehold.store.call import Call

STEP: Final = 500  # jobs in one statement
COUNTED: Final = 100_000  # dead jobs are counted up to here

# What counts as done, and the word for it.
DONE: Final[Mapping[str, Mapping[str, str]]] = {
    "retry": {"retried": "may run again"},
    "cancel": {"cancelled": "cancelled", "requested": "runs, and has been told to stop"},
    "hold": {"held": "held"},
    "resume": {"resumed": "resumed"},
    "discard": {"discarded": "gone from the dead letter"},
}
_PLAIN: Final[Mapping[str, Callable[[list[UUID], str, str | None], Call[verbs.Verdicts]]]] = {
    "cancel": verbs.cancel,
    "hold": verbs.hold,
    "resume": verbs.resume,
    "discard": verbs.discard,
    "retry": verbs.retry,
}
# Why not, and what then. Anything else is the state the job is in.
_WHY: Final = {
    ("retry", "key_taken"): "another live job has its key: wait for its end, or cancel that one",
    ("cancel", "ended"): "it has ended already",
    ("hold", "running"): "it runs: cancel it, or wait for its end",
    ("hold", "assigned"): "a runner has it already: cancel it, or wait for its end",
    ("hold", "waiting"): "it waits already: `leasehold explain {job}` says for what",
    ("resume", "waiting"): "nobody holds it, it waits for other jobs",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a verb did to one job; `text` says it to a person."""

    asked: str
    job: UUID | None
    verdict: str
    done: bool
    text: str


def act(
    ask: Ask,
    verb: str,
    said: Sequence[str],
    actor: str,
    reason: str | None = None,
    *,
    queue: str | None = None,
    priority: int | None = None,
) -> list[Answer]:
    """One answer for each job named; those that cannot be found or moved do not keep the others."""
    if verb == "retry":

        def call(jobs: list[UUID]) -> Call[verbs.Verdicts]:
            return verbs.retry(jobs, actor, reason, queue, priority)
    else:

        def call(jobs: list[UUID]) -> Call[verbs.Verdicts]:
            return _PLAIN[verb](jobs, actor, reason)

    found = find.several(ask, list(dict.fromkeys(said)))
    ids = [f.id for f in found if isinstance(f, find.Found) and f.duplicate_of is None]
    ids = list(dict.fromkeys(ids))
    verdicts: dict[UUID, str] = {}
    for start in range(0, len(ids), STEP):
        answer = ask(call(ids[start : start + STEP]))
        verdicts.update(answer)
    return [_answer(verb, one, verdicts) for one in found]


def _answer(verb: str, found: find.Found | JobError, verdicts: Mapping[UUID, str]) -> Answer:
    if isinstance(found, LeaseholdError):
        return Answer(str(found.job), None, "not_found", False, found.problem)
    if found.duplicate_of is not None:
        text = f"never runs: its key belongs to {found.duplicate_of}"
        return Answer(found.asked, found.id, "duplicate", False, text)
    verdict = verdicts.get(found.id, "not_found")
    if done := DONE[verb].get(verdict):
        return Answer(found.asked, found.id, verdict, True, done)
    why = _WHY.get((verb, verdict), f"it is {verdict.replace('_', ' ')}").format(job=found.id)
    return Answer(found.asked, found.id, verdict, False, f"cannot be {_PAST[verb]}: {why}")


_PAST: Final = {
    "retry": "retried",
    "cancel": "cancelled",
    "hold": "held",
    "resume": "resumed",
    "discard": "discarded",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Dead jobs of one task that ended with one error."""

    task: str
    error: str | None
    reason: str
    jobs: int


def redrivable(ask: Ask, chosen: Mapping[str, str]) -> list[Group]:
    """What a redrive would take, the largest group first; counted up to COUNTED."""
    rows = ask(reads.redrivable(chosen, COUNTED))
    return [Group(row[0], row[1], row[2], row[3]) for row in rows]


def redrive(
    ask: Ask,
    chosen: Mapping[str, str],
    actor: str,
    reason: str | None = None,
    *,
    queue: str | None = None,
    priority: int | None = None,
    limit: int | None = None,
    pace: float | None = None,
) -> Iterator[list[tuple[UUID, str]]]:
    """Batch by batch, the oldest first, no faster than `pace` jobs a second; ends by itself."""
    step = STEP if pace is None else max(1, min(STEP, int(pace)))
    left = limit
    while left is None or left > 0:
        begun = time.monotonic()
        size = step if left is None else min(step, left)
        verdicts = ask(verbs.redrive(chosen, size, actor, reason, queue, priority))
        if verdicts:
            yield verdicts
        moved = sum(verdict == "retried" for _, verdict in verdicts)
        # Those whose key is taken stay where they are: a batch of nothing else is the end.
        if moved == 0 or len(verdicts) < size:
            return
        left = None if left is None else left - moved
        if pace is not None:
            time.sleep(max(0.0, begun + len(verdicts) / pace - time.monotonic()))


def purge(ask: Ask, tenant: str, actor: str) -> Iterator[tuple[int, int]]:
    """A tenant leaves, a step at a time: how many jobs are gone, how many still run."""
    while True:
        gone, running = ask(verbs.purge(tenant, STEP, actor))
        yield gone, running
        if gone == 0:
            return
