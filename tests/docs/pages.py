"""The pages of the documentation, cut into blocks, and how a page is run.

Python blocks of one page share a namespace and one event loop; `await` may stand at the top
level. SQL blocks run on the same database. What a page needs and a reader does not is said in
comments that no reader sees:

    <!-- python                 code that runs at this place, up to the line -->
    <!-- file: hello.py -->     the next block is written to this file instead of being run
    <!-- run: hello.py -->      runs that program; a text block behind it is what it must print
"""

import ast
import asyncio
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import psycopg

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)```(\w*)$")
NOTE = re.compile(r"^ *<!-- (file|run): (.+?) -->$")


@dataclass(frozen=True)
class Block:
    """`kind` is the fence's language, `hidden` or `run`; `line` its first line on the page."""

    page: Path
    kind: str
    text: str
    line: int
    file: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


def texts() -> list[Path]:
    """All that we write for people: what is on the site."""
    others = {*ROOT.glob("*.md"), *(ROOT / "decisions").glob("*.md")}
    return [*pages(), *sorted(others - {*pages()})]


def blocks(page: Path) -> Iterator[Block]:
    lines = iter(enumerate(page.read_text().splitlines(), 1))
    file: str | None = None
    for number, line in lines:
        if line.strip() == "<!-- python":
            yield Block(page, "hidden", "\n".join(until(lines, "-->")), number + 1)
        elif note := NOTE.match(line):
            if note[1] == "run":
                yield Block(page, "run", note[2], number)
            else:
                file = note[2]
        elif fence := FENCE.match(line):
            indent = len(fence[1])
            text = "\n".join(inner[indent:] for inner in until(lines, "```"))
            yield Block(page, fence[2], text, number + 1, file)
            file = None


def until(lines: Iterator[tuple[int, str]], end: str) -> Iterator[str]:
    for _, line in lines:
        if line.strip() == end:
            return
        yield line
    raise ValueError(f"a block has no {end}")


class Page:
    """One page on one database, in a folder of its own."""

    def __init__(self, path: Path, dsn: str, folder: Path) -> None:
        self.dsn, self.folder = dsn, folder
        self.blocks = list(blocks(path))
        self.module = ModuleType(f"page_{path.stem.replace('-', '_')}")
        self.module.__dict__["FOLDER"] = folder
        self.printed: str | None = None

    async def run(self) -> None:
        sys.modules[self.module.__name__] = self.module
        before = set(sys.modules)
        sys.path.insert(0, str(self.folder))
        try:
            async with AsyncExitStack() as stack:
                # Sync blocks run in a thread, so that a worker on the loop goes on beside them.
                self.thread = stack.enter_context(ThreadPoolExecutor(1))
                self.module.__dict__["page"] = stack
                for block in self.blocks:
                    await self.run_block(block)
        finally:
            sys.path.remove(str(self.folder))
            for name in set(sys.modules) - before | {self.module.__name__}:
                if str(self.folder) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]

    async def run_block(self, block: Block) -> None:
        try:
            await self.do(block)
        except Exception as error:
            error.add_note(f"in the block at {block.place}")
            raise

    async def do(self, block: Block) -> None:
        match block.kind:
            case _ if block.file:
                (self.folder / block.file).write_text(block.text + "\n")
            case "python" | "hidden":
                await self.execute(block)
            case "sql":
                with psycopg.connect(self.dsn, autocommit=True) as connection:
                    connection.execute(block.text.encode())
            case "run":
                self.printed = await asyncio.to_thread(self.started, block.text)
            case "text" if self.printed is not None:
                assert self.printed.strip() == block.text.strip()
                self.printed = None

    async def execute(self, block: Block) -> None:
        text = "\n" * (block.line - 1) + block.text
        code = compile(
            text, str(block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
        )
        if code.co_flags & inspect.CO_COROUTINE:
            await eval(code, self.module.__dict__)
        else:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self.thread, exec, code, self.module.__dict__)

    def started(self, command: str) -> str:
        """What a program prints; pytest among them uses the server of this very run."""
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        environment = {
            **os.environ,
            "DATABASE_URL": self.dsn,
            "PYTEST_XDIST_TESTRUNUID": run,
            "PYTHONPATH": str(self.folder),
        }
        done = subprocess.run(
            [sys.executable, *shlex.split(command)],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def shell_lines() -> list[tuple[str, str]]:
    """(place, command) of every `leasehold …` that a page tells its reader to type."""
    found = []
    for page in pages():
        for block in blocks(page):
            if block.kind == "sh":
                joined = block.text.replace("\\\n", " ")
                found += [
                    (block.place, line.split("#")[0].strip())
                    for line in joined.splitlines()
                    if line.startswith("leasehold ")
                ]
    return found
