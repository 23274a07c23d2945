"""What a person sees: tables and colour on a terminal, plain text in a pipe, JSON for programs.

Whatever comes from the database passes `safe` here: it can neither move the cursor nor be markup.
"""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec

GAP: Final = "  "
ID: Final = 36  # places that an id takes: it is never cut
NARROWEST: Final = 10
BAR: Final = 30

_CODES: Final = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34",
    "magenta": "35", "cyan": "36",
}  # fmt: skip

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
    """A head that begins with `>` has numbers below it. On a terminal no line is longer than it."""
    cells = [[(safe(c), "") if isinstance(c, str) else (safe(c[0]), c[1]) for c in r] for r in rows]
    right = [head.startswith(">") for head in heads]
    names = [head.removeprefix(">") for head in heads]
    columns = ([name, *(row[n][0] for row in cells)] for n, name in enumerate(names))
    widths = [max(map(width, texts)) for texts in columns]
    if terminal():
        widths = fitting(widths, right, shutil.get_terminal_size().columns)
    for row in ([(name, "bold") for name in names], *cells):
        parts = [
            (_in(text, size, to_right=to_right) + GAP, style)
            for (text, style), size, to_right in zip(row, widths, right, strict=True)
            if size
        ]
        _line([*parts[:-1], (parts[-1][0].rstrip(), parts[-1][1])])


def fitting(widths: Sequence[int], right: Sequence[bool], room: int) -> list[int]:
    """Takes what is too much from the last column, then from other texts; never from ids."""
    found = list(widths)
    too_much = sum(found) + len(GAP) * (len(found) - 1) - room
    last = len(found) - 1
    order = sorted(
        (n for n in range(last) if not right[n] and found[n] != ID), key=lambda n: -found[n]
    )
    for n in ([] if right[last] else [last]) + order:
        if too_much <= 0:
            break
        taken = min(too_much, max(found[n] - NARROWEST * (1 + (n == last)), 0))
        found[n] -= taken
        too_much -= taken
    return found


def width(text: str) -> int:
    """In places of a terminal: some characters take two, some none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _in(text: str, size: int, *, to_right: bool) -> str:
    if width(text) > size:
        while width(text) > size - 1:
            text = text[:-1]
        text += "…"
    padding = " " * (size - width(text))
    return padding + text if to_right else text + padding


def _line(parts: Sequence[tuple[str, str]]) -> None:
    styled = terminal() and in_colour()
    text = "".join(_styled(text, style) if styled else text for text, style in parts)
    sys.stdout.write(text.rstrip() + "\n")
    sys.stdout.flush()


def in_colour() -> bool:
    """As https://no-color.org asks, and not where the terminal knows no styles."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _styled(text: str, style: str) -> str:
    if not style or not text.strip():
        return text
    codes = ";".join(_CODES[word] for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m"


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A line that grows on a terminal, nothing elsewhere; call it with how many more are done."""
    if not sys.stderr.isatty():
        yield lambda _more: None
        return
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        part = min(done / total, 1.0) if total else 0.0
        bar = f" [{'#' * round(BAR * part):<{BAR}}] {part:4.0%} of {total}" if total else ""
        sys.stderr.write(f"\r{what} {done}{bar}")
        sys.stderr.flush()

    advance(0)
    try:
        yield advance
    finally:
        sys.stderr.write("\n")
