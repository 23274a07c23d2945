"""Jobs run one after the other, when the test says so."""

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from leasehold.app import App
from leasehold.errors import EndlessChain
from leasehold.testing.stepper import MOST, Ended
from leasehold.testing.stepping import Stepping


class Steps:
    """`async with Steps(app) as steps: ended = await steps.run_next()`, or plain `with` and _sync.

    Each step does first what a worker and the leader would have done by now: what is due may run.
    `queues` are asked in their order; left out, they are all of the app's.
    """

    def __init__(self, app: App, *, queues: Iterable[str] = ()) -> None:
        self._app, self._queues = app, tuple(queues)
        self._stepping = Stepping(app)

    async def run_next(self) -> Ended | None:
        """Runs the job that a worker would take next; None where no job may run now."""
        stepper = await self._stepping.ready()
        claimed = await stepper.take_next(self._asked())
        if claimed is None:
            return None
        try:
            return await stepper.run_one(claimed)
        finally:
            await stepper.children.close()

    async def run_all(self, limit: int = MOST) -> list[Ended]:
        """Until no job may run now, those included that these enqueue.

        EndlessChain where another one may run after `limit` of them.
        """
        ran: list[Ended] = []
        while True:
            stepper = await self._stepping.ready()
            claimed = await stepper.take_next(self._asked())
            if claimed is None:
                await stepper.children.close()
                return ran
            if len(ran) == limit:
                await stepper.give_back([claimed])
                raise EndlessChain(limit, f"{limit} jobs ran, and a {claimed.task} may run now")
            ran.append(await stepper.run_one(claimed))

    def run_next_sync(self) -> Ended | None:
        """`run_next` without an event loop."""
        return self._stepping.sync(self.run_next())

    def run_all_sync(self, limit: int = MOST) -> list[Ended]:
        """`run_all` without an event loop."""
        return self._stepping.sync(self.run_all(limit))

    def _asked(self) -> Sequence[str]:
        return self._queues or self._app.queues()

    def close(self) -> None:
        self._stepping.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
