"""Writes the ends of runs: a lone one at once, else all that ended during the last statement."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from leasehold.errors import ConnectionUnusable, EnqueueRefused, LeaseholdError, StorageFull
from leasehold.payloads.failure import clean
from leasehold.runner import verdict
from leasehold.store import connect, verbs
from leasehold.store.call import Call
from leasehold.store.refusal import RunnerDead

log = logging.getLogger("leasehold.runner")

MOST = 1_000  # runs in one statement
BYTES = 16_000_000  # of results in one statement
PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)  # seconds between two tries, where the server is in trouble


class Finisher:
    """`bundles` counts what each claim still holds here; it is also what the heartbeat tells."""

    def __init__(self, number: int, ask: Callable[[Call[Any]], Awaitable[Any]]) -> None:
        self.number, self._ask = number, ask
        self.bundles: dict[int, int] = {}
        self._good: list[tuple[int, bytes, int, int, bytes | None]] = []
        self._other: list[tuple[int, dict[str, Any]]] = []
        self._under_way = 0
        self._news = asyncio.Event()
        self._written = asyncio.Event()
        self.lost = 0

    def __len__(self) -> int:
        """The ends that are not written yet."""
        return len(self._good) + len(self._other) + self._under_way

    def succeeded(
        self, bundle: int, job: bytes, claim_no: int, run_ms: int, result: bytes | None
    ) -> None:
        self._good.append((bundle, job, claim_no, run_ms, result))
        self._news.set()

    def otherwise(self, bundle: int, document: dict[str, Any]) -> None:
        self._other.append((bundle, document))
        self._news.set()

    def left(self, bundle: int, count: int = 1) -> None:
        """So many of this bundle's jobs are not ours any more."""
        rest = self.bundles.get(bundle, 0) - count
        if rest > 0:
            self.bundles[bundle] = rest
        else:
            self.bundles.pop(bundle, None)

    def forget(self, bundle: int) -> None:
        self.bundles.pop(bundle, None)

    async def run(self) -> None:
        """Until cancelled. What cannot be written now is tried again until it is answered."""
        while True:
            await self._news.wait()
            await self.write()

    async def write(self) -> None:
        """What has ended until now, as far as one statement takes it."""
        self._news.clear()
        much = _as_many(self._good)
        good, self._good = self._good[:much], self._good[much:]
        other, self._other = self._other[:MOST], self._other[MOST:]
        if self._good or self._other:
            self._news.set()
        self._under_way = len(good) + len(other)
        await self._write(good, other)
        self._under_way = 0
        self._written.set()

    async def drained(self) -> None:
        """Returns when everything that ended is written."""
        while len(self):
            self._written.clear()
            await self._written.wait()

    async def _write(self, good: list[Any], other: list[Any]) -> None:
        bundles = sorted({entry[0] for entry in good} | {entry[0] for entry in other})
        if not bundles:
            return
        results = [entry[4] for entry in good]
        call = verbs.finish(
            self.number,
            bundles,
            connect.Ids([entry[1] for entry in good]),
            connect.Numbers([entry[2] for entry in good]),
            connect.Numbers([entry[3] for entry in good]),
            connect.Documents(results) if any(results) else None,
            msgspec.json.encode([document for _, document in other]).decode() if other else None,
        )
        try:
            verdicts = await self._answer(call)
        except RunnerDead:
            verdicts = []
            count = len(good) + len(other)
            log.warning("this runner's lease was lost: %d ends do not count", count)
        except (LeaseholdError, connect.Error) as error:
            await self._apart(good, other, error)
            return
        for job, claim_no, answer in verdicts:
            if answer == "lost":
                self.lost += 1
                text = "job %s (claim %s): the lease was lost, its end here does not count"
                log.warning(text, connect.id_text(job), claim_no)
        for entry in (*good, *other):
            self.left(entry[0])

    async def _answer(self, call: Call[Any]) -> Any:
        """The server's own trouble (a full disk, a deadlock) passes; bad cargo does not."""
        pauses = iter(PAUSES)
        while True:
            try:
                return await self._ask(call)
            except RunnerDead:
                raise
            except (LeaseholdError, connect.Error) as error:
                if _is_cargo(error):
                    raise
                # Until there is room, or a server that takes writes, what has run is kept here.
                lasting = isinstance(error, StorageFull | ConnectionUnusable)
                pause = next(pauses, PAUSES[-1] if lasting else None)
                if pause is None:
                    raise
                log.warning("the ends of runs cannot be written yet: %s", clean(str(error)))
                await asyncio.sleep(pause)

    async def _apart(self, good: list[Any], other: list[Any], error: Exception) -> None:
        """One bad row never fails its batch: halved until it is alone, it gets a plain ending."""
        ends = [*good, *other]
        if len(ends) > 1:
            middle, border = len(ends) // 2, len(good)
            await self._write(good[:middle], other[: max(middle - border, 0)])
            await self._write(good[middle:], other[max(middle - border, 0) :])
            return
        log.error("the end of a run could not be written as it was: %s", clean(str(error)))
        plain = [*map(_plain_good, good), *map(_plain_other, other)]
        if other == plain:
            # Nobody here holds it any more: the next beat says so, and it goes back.
            self.left(ends[0][0])
            return
        await self._write([], plain)


def _is_cargo(error: Exception) -> bool:
    """What was sent is at fault, and will be the next time; a read-only server will not."""
    refused = isinstance(error, EnqueueRefused) and not isinstance(error, ConnectionUnusable)
    return refused or connect.is_about_data(error)


def _as_many(good: list[Any]) -> int:
    """Postgres takes a gigabyte in one statement, and then closes the connection."""
    size = 0
    for n, entry in enumerate(good[:MOST]):
        size += len(entry[4] or b"")
        if size > BYTES and n:
            return n
    return MOST


def _plain_good(entry: Any) -> Any:
    bundle, job, claim_no, run_ms, _ = entry
    document = verdict.kept_nothing("the database refused it")
    return bundle, verdict.named(document, job, claim_no, run_ms)


def _plain_other(entry: Any) -> Any:
    bundle, document = entry
    kept = ("job", "claim", "run_ms", "outcome", "delay")
    error = {"type": "Unstorable", "message": "the error could not be stored"}
    return bundle, {**{name: document[name] for name in kept if name in document}, "error": error}
