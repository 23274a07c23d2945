"""The process of a runner: claims and runs an app's jobs until its supervisor says stop or is gone.

Started by a supervisor as `python -m leasehold.cli.runner SOCKET BOARD STACKS`.
"""

import asyncio
import faulthandler
import logging
import mmap
import os
import signal
import socket
import sys
import traceback
from dataclasses import replace
from typing import Any

import msgspec

from leasehold.cli.log import begin_logging
from leasehold.cli.target import load, theirs
from leasehold.errors import LeaseholdError, SettingsError
from leasehold.observe.board import Board
from leasehold.runner.run import Pace, Runner

log = logging.getLogger("leasehold.runner")

REPORT = 0.5  # seconds between two reports to the supervisor


class Link:
    """Lines of JSON to and from the supervisor."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def say(self, message: dict[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(msgspec.json.encode(message) + b"\n")

    async def hear(self) -> dict[str, Any] | None:
        """None when the supervisor is gone."""
        line = await self._reader.readline()
        return msgspec.json.decode(line) if line else None


async def serve(wire: socket.socket, board_fd: int) -> None:
    link = Link(*await asyncio.open_connection(sock=wire, limit=64 * 1024 * 1024))
    hello = await link.hear()
    if hello is None:
        return
    said = hello["hello"]
    link.say({"importing": said["target"]})
    try:
        app = load(said["target"])
        begin_logging(said["level"])  # after the import, which may have set up its own
        pace = msgspec.convert(said["pace"], Pace)
        queues = pace.queues or app.queues()
    except (LeaseholdError, msgspec.ValidationError) as error:
        link.say({"failed": str(error), "misnamed": isinstance(error, SettingsError)})
        return
    except Exception as error:  # noqa: BLE001 - whatever a user's module raises when it is imported
        trace = traceback.format_exception(type(error), error, theirs(error.__traceback__))
        text = f"importing {said['target']} failed:\n{''.join(trace)}"
        link.say({"failed": text, "misnamed": False})
        return
    pace = replace(pace, queues=tuple(queues))
    link.say({"ready": {"tasks": sorted(app.definitions), "queues": list(queues)}})
    go = await link.hear()
    if go is None:
        return
    board = Board(mmap.mmap(board_fd, 0), pace.concurrency)
    runner = Runner(app.definitions, said["dsn"], go["go"], board, pace)
    runner.hear({"until": go["until"]})  # as long as its hiring gave it
    runner.beat_now = lambda: link.say({"beat": True})
    running = asyncio.create_task(runner.run())
    talking = asyncio.create_task(_talk(link, runner))
    reporting = asyncio.create_task(_report(link, runner))
    await asyncio.wait({running, talking}, return_when=asyncio.FIRST_COMPLETED)
    if not running.done():
        runner.stop()
    await running
    reporting.cancel()
    talking.cancel()
    link.say({"report": runner.report()})


async def _talk(link: Link, runner: Runner) -> None:
    while (message := await link.hear()) is not None:
        match message:
            case {"news": news}:
                runner.hear(news)
            case {"stop": _}:
                runner.stop()  # and go on listening: leases, wishes and the supervisor's end
            case _:
                log.warning("the supervisor said %r, which this runner does not know", message)
    # The supervisor is gone and nobody beats for us: whatever we go on doing would be done twice.
    os._exit(70)


async def _report(link: Link, runner: Runner) -> None:
    while True:
        await asyncio.sleep(REPORT)
        link.say({"report": runner.report()})


def main() -> None:
    wire_fd, board_fd, stacks_fd = map(int, sys.argv[1:4])
    # Ctrl-C in the terminal reaches the supervisor; it tells us.
    # A handler and not SIG_IGN: that would be inherited by every program a job starts.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)
    faulthandler.register(signal.SIGUSR1, file=stacks_fd, all_threads=True)
    sys.path.insert(0, "")
    wire = socket.socket(fileno=wire_fd)
    try:
        import uvloop  # noqa: PLC0415 - an optional part
    except ImportError:
        asyncio.run(serve(wire, board_fd))
    else:
        uvloop.run(serve(wire, board_fd))
    # Threads that did not stop would keep the process; what they held went back already.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
