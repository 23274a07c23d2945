"""The process behind `run="process"`: one job after another, and how each ended.

Started by a runner as `python -m leasehold.cli.child FD MODULE`; it imports the module of a task
and speaks frames of JSON on that socket.
"""

import asyncio
import importlib
import importlib.util
import inspect
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
import time
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from leasehold.app import Task
from leasehold.cli.log import begin_logging
from leasehold.define.outcome import Outcome
from leasehold.define.task import Definition
from leasehold.errors import DefinitionError, LeaseLost
from leasehold.runner import verdict
from leasehold.runner.job import Job, current
from leasehold.runner.run_process import Order

if TYPE_CHECKING:
    from leasehold.runner.run import Runner

AFTER: Final = 5.0  # seconds that a job has to leave when its runner is gone
_HEAD: Final = struct.Struct("!I")


class Wire:
    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._file = self._socket.makefile("rwb")

    def send(self, message: dict[str, Any]) -> None:
        body = msgspec.json.encode(message)
        self._file.write(_HEAD.pack(len(body)) + body)
        self._file.flush()

    def hear(self) -> bytes | None:
        """None when the runner is gone."""
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        return self._file.read(_HEAD.unpack(head)[0])

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        self.send(question)
        if (heard := self.hear()) is None:
            raise SystemExit(70)
        answer: dict[str, Any] = msgspec.json.decode(heard)
        return answer

    def end_with_the_runner(self) -> None:
        """A job must not go on here while its next run begins elsewhere."""
        look = select.poll()
        look.register(self._socket, 0)  # hang-up alone
        look.poll()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(AFTER)
        os._exit(70)


@dataclass(frozen=True, slots=True)
class Here:
    """What is known of the runner in this process."""

    number: int
    tasks: dict[str, Definition]


class ChildJob(Job):
    """What `current_job()` answers here: the same questions, asked over the wire."""

    __slots__ = ("_wire",)

    def __init__(self, wire: Wire, order: Order, tasks: dict[str, Definition]) -> None:
        # Of its runner this job asks no more than the number and the tasks.
        super().__init__(cast("Runner", Here(order.runner, tasks)), order.claimed)
        self._wire = wire

    def progress(self, percent: float, note: str | None = None) -> None:
        self._wire.send({"progress": percent, "note": note})

    def checkpoint_sync(self) -> Any:
        return self._wire.ask({"checkpoint": True})["data"]

    def metadata_sync(self) -> Any:
        return self._wire.ask({"metadata": True})["data"]

    def save_sync(self, data: Any) -> None:
        if not self._wire.ask({"save": self._storable(data)})["saved"]:
            raise LeaseLost(self.id)

    async def checkpoint(self) -> Any:
        return self.checkpoint_sync()

    async def metadata(self) -> Any:
        return self.metadata_sync()

    async def save(self, data: Any) -> None:
        self.save_sync(data)


def definitions(place: str) -> dict[str, Definition]:
    """The tasks that a module, or a program's file, holds."""
    module = _program(place) if place.endswith(".py") else importlib.import_module(place)
    return {
        found.definition.name: found.definition
        for found in vars(module).values()
        if isinstance(found, Task)
    }


def _program(path: str) -> ModuleType:
    # Under another name than __main__, so that what it guards with it does not run again.
    spec = importlib.util.spec_from_file_location("__leasehold_main__", path)
    if spec is None or spec.loader is None:
        raise DefinitionError(
            path, "cannot be imported by a process task: put its tasks into a module"
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules["__leasehold_main__"] = module
    spec.loader.exec_module(module)
    return module


def run(definition: Definition, job: ChildJob, payload: bytes) -> dict[str, Any]:
    """One job, from its arguments to the message that tells its end."""
    current.set(job)
    try:
        args, kwargs = definition.codec.decode_call(payload)
        value = definition.function(*args, **kwargs)
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
    except Exception as error:  # noqa: BLE001 - whatever a user's function raises is a fact about its job
        return _judged(error, definition, job)
    if isinstance(value, Outcome):
        return _judged(value, definition, job)
    raw, problem = definition.codec.encode_result(value)
    if problem:
        return {"document": verdict.kept_nothing(problem)}
    return {"result": None if raw is None else msgspec.Raw(raw)}


def _judged(error: BaseException, definition: Definition, job: Job) -> dict[str, Any]:
    luck = random.random()  # noqa: S311
    return {"document": verdict.judged(definition, error, job.attempt, job.max_attempts, luck)}


async def _awaited(value: Any) -> Any:
    return await value


def main() -> None:
    # The terminal's Ctrl-C is for the supervisor; this process ends with its runner.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    sys.path.insert(0, "")
    wire = Wire(int(sys.argv[1]))
    threading.Thread(target=wire.end_with_the_runner, daemon=True).start()
    tasks = definitions(sys.argv[2])
    begin_logging()  # after the import, which may have set up its own
    while said := wire.hear():
        order = msgspec.json.decode(said, type=Order)
        job = ChildJob(wire, order, tasks)
        end = run(tasks[order.claimed.task], job, order.claimed.payload)
        wire.send({**end, "ended": job.ended_by_itself})


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)


if __name__ == "__main__":
    main()
