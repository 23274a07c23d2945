"""Many jobs in one call: one transaction, by COPY in chunks where the connection can."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from leasehold.define.options import Options
from leasehold.define.task import Definition
from leasehold.enqueue import accept
from leasehold.enqueue.ids import Ids
from leasehold.errors import EnqueueRefused, LeaseholdError
from leasehold.store.copy import Columns

CHUNK: Final = 10_000  # jobs in one COPY: the server's memory of one statement stays small
STEP: Final = 1_000  # of them made before the event loop may turn
SHOWN: Final = 20


class BadRows(EnqueueRefused):
    """Some of many rows cannot be enqueued, so none was; the first twenty are named by index."""

    def __init__(self, problems: list[tuple[int, str]], total: int) -> None:
        self.problems, self.total = problems, total
        shown = "\n".join(f"  [{index}] {problem}" for index, problem in problems[:SHOWN])
        more = f"\n  … and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        super().__init__(
            f"{len(problems)} of {total} jobs are refused, nothing was enqueued:\n{shown}{more}"
        )


class Bulk:
    """What is common to all jobs of the call is written once; each adds its id and its payload."""

    def __init__(
        self,
        definition: Definition,
        options: Options,
        arguments: Iterable[Mapping[str, Any]],
        ids: Ids,
    ) -> None:
        self._encode, self._make_ids = definition.codec.encode, ids.make
        self._arguments = iter(arguments)
        self.template = accept.columns(definition, options)
        self.ids: list[UUID] = []
        self.queue = accept.queue_of(self.template)
        self.keyed = "key" in self.template
        self.wakes = accept.runs_at_once(self.template)
        self._problems: list[tuple[int, str]] = []
        self._seen = 0

    def columns(self, now: int) -> Columns:
        return Columns.of(self.template, now)

    def steps(self) -> Iterator[tuple[list[UUID], list[bytes]]]:
        """Ids and payloads, a thousand at a time.

        After the first bad one the rest is only looked at, and at the end it raises.
        """
        while True:
            payloads = self._next()
            if payloads is None:
                break
            if not self._problems:
                made = self._make_ids(len(payloads))
                self.ids += made
                yield made, payloads
        if self._problems:
            raise BadRows(self._problems, self._seen)

    def _next(self) -> list[bytes] | None:
        payloads: list[bytes] = []
        start = self._seen
        for given in self._arguments:
            try:
                payloads.append(self._encode((), given if type(given) is dict else dict(given)))
            except LeaseholdError as error:
                self._problems.append((self._seen, str(error)))
            self._seen += 1
            if self._seen - start >= STEP:
                break
        return payloads if self._seen > start else None

    def documents(self) -> Iterator[str]:
        """The same as JSON, for connections that cannot COPY."""
        for made, payloads in list(self.steps()):
            yield accept.document([
                {"id": job, **self.template, "payload": msgspec.Raw(payload)}
                for job, payload in zip(made, payloads, strict=True)
            ])  # fmt: skip


Progress = Callable[[int], None]
