"""Tasks that run in a process of their own, which alone dies when its job kills it."""

import asyncio
import contextlib
import os
import signal
import socket
import struct
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from leasehold.define.task import Definition
from leasehold.errors import LeaseholdError, LeaseLost
from leasehold.runner.backlog import Claimed
from leasehold.runner.outcome_raw import Judged, RawResult

if TYPE_CHECKING:
    from leasehold.runner.job import Job

POLITE: Final = 5.0  # seconds between SIGTERM and SIGKILL
_HEAD: Final = struct.Struct("!I")


class ChildDied(LeaseholdError):
    """The process died under its job: out of memory, a crash in C code, or it ended itself."""


class Order(NamedTuple):
    """What a child is told to run."""

    runner: int
    claimed: Claimed


class Children:
    """Started when first needed, kept for the next job, replaced singly."""

    def __init__(self, most: int) -> None:
        self._places = asyncio.Semaphore(most)
        self._free: list[Child] = []

    async def run(self, job: "Job", definition: Definition, order: Order) -> Any:
        async with self._places:
            child = self._fitting(definition) or await Child.start(definition)
            try:
                answer = await child.run(job, order)
            except BaseException:
                await _to_the_end(child.end())
                raise
            self._free.append(child)
            return answer

    def _fitting(self, definition: Definition) -> "Child | None":
        for child in self._free:
            if child.module == definition.function.__module__ and child.alive:
                self._free.remove(child)
                return child
        return None

    async def close(self) -> None:
        children, self._free = self._free, []
        await asyncio.gather(*(child.end() for child in children))


async def _to_the_end(ending: Coroutine[Any, Any, None]) -> None:
    """However often the run is told to stop meanwhile: it has stopped when its process is gone."""
    task = asyncio.ensure_future(ending)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)


class Child:
    def __init__(
        self,
        module: str,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.module, self.process, self._reader, self._writer = module, process, reader, writer

    @classmethod
    async def start(cls, definition: Definition) -> "Child":
        ours, theirs = socket.socketpair()
        module = definition.function.__module__
        place = (
            str(getattr(sys.modules["__main__"], "__file__", ""))
            if module == "__main__"
            else module
        )
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "leasehold.cli.child", str(theirs.fileno()), place,
                pass_fds=(theirs.fileno(),), start_new_session=True,
            )  # fmt: skip
        reader, writer = await asyncio.open_connection(sock=ours)
        return cls(module, process, reader, writer)

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    async def run(self, job: "Job", order: Order) -> Any:
        self._send(order)
        while True:
            try:
                said = await self._hear_or_end()
            except (asyncio.IncompleteReadError, ConnectionError):
                code = await self.process.wait()
                how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                msg = f"the process of this job died ({how})"
                raise ChildDied(msg) from None
            job.ended_by_itself = said.get("ended", False)
            match said:
                case {"progress": percent, "note": note}:
                    job.progress(percent, note)
                case {"checkpoint": _}:
                    self._send({"data": await job.checkpoint()})
                case {"metadata": _}:
                    self._send({"data": await job.metadata()})
                case {"save": data}:
                    try:
                        await job.save(data)
                        self._send({"saved": True})
                    except LeaseLost:
                        self._send({"saved": False})
                case {"document": document}:
                    return Judged(document)
                case {"result": result}:
                    return RawResult(None if result is None else msgspec.json.encode(result))
                case _:
                    msg = f"the process of this job said {said!r}: it runs another version"
                    raise ChildDied(msg)

    def _send(self, message: Any) -> None:
        body = msgspec.json.encode(message)
        self._writer.write(_HEAD.pack(len(body)) + body)

    async def _hear_or_end(self) -> Any:
        """Processes that a job forked hold our socket too: its end is not the end of its job's."""
        hearing = asyncio.ensure_future(self._hear())
        ending = asyncio.ensure_future(self.process.wait())
        try:
            await asyncio.wait({hearing, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not hearing.done():
                await asyncio.wait({hearing}, timeout=0.5)
            if not hearing.done():
                raise ConnectionResetError
            return hearing.result()
        finally:
            hearing.cancel()
            ending.cancel()

    async def _hear(self) -> Any:
        (size,) = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
        return msgspec.json.decode(await self._reader.readexactly(size))

    async def end(self) -> None:
        """Asks, waits, kills: this child alone, with what it started."""
        self._writer.close()
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                self.process.terminate()
            try:
                async with asyncio.timeout(POLITE):
                    await self.process.wait()
            except TimeoutError:
                self._kill()
                await self.process.wait()
        self._kill()

    def _kill(self) -> None:
        """With all it started; they are a session of their own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
