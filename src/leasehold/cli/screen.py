"""What a person sees: tables and colour on a terminal, plain text in a pipe, JSON for programs.

Whatever comes from the database passes `safe` here: it can neither move the cursor nor be markup.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

Cell = str | tuple[str, str]  # a text, or a text and its style

_CONTROL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_PICTURES: Final = 0x2400  # where Unicode draws the control characters

STYLES: Final = {
    "succeeded": "green", "resumed": "green", "running": "cyan", "assigned": "cyan",
    "ready": "blue", "scheduled": "blue", "dispatched": "blue",
    "waiting": "yellow", "held": "yellow", "retried": "yellow",
    "interrupted": "yellow", "warning": "yellow", "cancelled": "magenta", "expired": "magenta",
    "failed": "red", "poisoned": "red", "wrong": "red bold", "unknown": "red", "note": "dim",
    "reopened": "blue", "sent_on": "blue",
}  # fmt: skip


def safe(text: object) -> str:
    """One line: control characters are drawn, not obeyed."""
    return _CONTROL.sub(_drawn, str(text))


def _drawn(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:  # noqa: PLR2004 - C0
        return chr(_PICTURES + code)
    return "\u2421" if code == 0x7F else "\ufffd"  # noqa: PLR2004 - DEL


def state(word: str) -> Cell:
    return (word, STYLES.get(word, ""))


def terminal() -> bool:
    return sys.stdout.isatty()


def say(text: object = "", style: str = "") -> None:
    """One line to standard output."""
    _line([(safe(text), style)])


def words(*cells: Cell) -> None:
    """Several texts on a line, each in its style."""
    _line([(safe(c), "") if isinstance(c, str) else (safe(c[0]), c[1]) for c in cells])


def block(text: str, indent: str = "    ", style: str = "dim") -> None:
    """A text of several lines, such as a trace."""
    for line in text.splitlines():
        say(indent + line.replace("\t", "    "), style)


def complain(text: object) -> None:
    """One line to standard error."""
    sys.stdout.flush()
    print(f"leasehold: {safe(text)}", file=sys.stderr, flush=True)  # noqa: T201


def document(value: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """A head that begins with `>` has numbers below it."""
    cells = [[(safe(c), "") if isinstance(c, str) else (safe(c[0]), c[1]) for c in r] for r in rows]
    right = [head.startswith(">") for head in heads]
    names = [head.lstrip(">") for head in heads]
    if terminal():
        _drawn_table(names, right, cells)
        return
    widths = [max([len(name), *(len(row[n][0]) for row in cells)]) for n, name in enumerate(names)]
    for texts in (names, *([text for text, _ in row] for row in cells)):
        parts = (
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(texts, widths, right, strict=True)
        )
        sys.stdout.write("  ".join(parts).rstrip() + "\n")


def _drawn_table(
    names: Sequence[str], right: Sequence[bool], cells: Sequence[Sequence[tuple[str, str]]]
) -> None:
    from rich.table import Table  # noqa: PLC0415 - a pipe does not need it
    from rich.text import Text  # noqa: PLC0415

    drawn = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for n, (name, to_right) in enumerate(zip(names, right, strict=True)):
        ids = bool(cells) and all(len(row[n][0]) == 36 for row in cells)  # noqa: PLR2004 - never cut an id
        drawn.add_column(
            Text(name), justify="right" if to_right else "left", no_wrap=ids or to_right,
            overflow="fold", min_width=36 if ids else None,
        )  # fmt: skip
    for row in cells:
        drawn.add_row(*(Text(text, style=style) for text, style in row))
    _console().print(drawn)


def _line(parts: Sequence[tuple[str, str]]) -> None:
    if not terminal():
        sys.stdout.write("".join(text for text, _ in parts).rstrip() + "\n")
        return
    from rich.text import Text  # noqa: PLC0415

    _console().print(Text.assemble(*parts), soft_wrap=True)


def _console(stderr: bool = False) -> Any:
    from rich.console import Console  # noqa: PLC0415

    return Console(highlight=False, emoji=False, markup=False, stderr=stderr)


@contextmanager
def progress(what: str, total: int | None) -> "Iterator[Callable[[int], None]]":
    """A bar on a terminal, nothing elsewhere; call it with how many more are done."""
    if not sys.stderr.isatty():
        yield lambda _more: None
        return
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=_console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.advance(task, more)
