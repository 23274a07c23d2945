"""An error as the few clean lines of text that are stored of it."""

import traceback
from collections.abc import Iterator
from typing import Any, Final

MOST_BYTES: Final = 16_384
_MOST_LINKS: Final = 8  # of a chain of causes
_MOST_MEMBERS: Final = 5  # of an exception group
_FRAMES: Final = 40
_LINE: Final = 1_000


def describe_error(error: BaseException) -> dict[str, str]:
    """Type, message and trace. Never raises; the trace has no locals, which may hold secrets."""
    return {
        "type": type_name(error),
        "message": message_of(error),
        "trace": clean("\n".join(_trace(error)), keep_end=True),
    }


def type_name(error: BaseException) -> str:
    """With its module, but for Python's own and ours: those are known by their names alone."""
    cls = type(error)
    plain = cls.__module__ == "builtins" or cls.__module__.split(".")[0] == "leasehold"
    return clean(cls.__qualname__ if plain else f"{cls.__module__}.{cls.__qualname__}")


def message_of(error: BaseException) -> str:
    try:
        return clean(str(error))
    except Exception as broken:  # noqa: BLE001 - the text of an error is no reason to lose it
        return f"<its text cannot be shown: {type(broken).__name__}>"


def clean(text: str, *, keep_end: bool = False) -> str:
    """What Postgres takes, in at most 16 KB. Cut first: the text may be of any size."""
    whole = len(text)
    cut = text[-MOST_BYTES:] if keep_end else text[:MOST_BYTES]
    raw = cut.replace("\0", "\N{SYMBOL FOR NULL}").encode(errors="replace")
    if whole <= MOST_BYTES and len(raw) <= MOST_BYTES:
        return raw.decode()
    note = f"… ({whole:,} characters in all)"
    room = MOST_BYTES - len(note.encode()) - 1
    kept = (raw[-room:] if keep_end else raw[:room]).decode(errors="ignore")
    return f"{note}\n{kept}" if keep_end else f"{kept}{note}"


def _trace(error: BaseException) -> Iterator[str]:
    """The causes first, as Python prints them; the frames nearest to the error are kept."""
    chain = list(_chain(error))
    for n, link in enumerate(reversed(chain)):
        yield from _frames(link)
        if n < len(chain) - 1:
            yield "\nThen, from there or while it was handled:\n"


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(_MOST_LINKS):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _frames(error: BaseException) -> Iterator[str]:
    stack = traceback.extract_tb(error.__traceback__, limit=-_FRAMES)
    yield from (line.rstrip("\n") for line in traceback.format_list(stack))
    yield f"{type_name(error)}: {_first(message_of(error))}"
    yield from (_first(str(note)) for note in _notes(error))
    if isinstance(error, BaseExceptionGroup):
        for n, member in enumerate(error.exceptions[:_MOST_MEMBERS], 1):
            yield f"\nMember {n} of {len(error.exceptions)}:"
            yield from _frames(member)


def _notes(error: BaseException) -> list[Any]:
    try:
        notes = getattr(error, "__notes__", [])
        return [str(note) for note in notes[:_MOST_MEMBERS]] if isinstance(notes, list) else []
    except Exception:  # noqa: BLE001 - an error may have a __getattr__ of its own
        return []


def _first(text: str) -> str:
    return text if len(text) <= _LINE else f"{text[:_LINE]}…"
