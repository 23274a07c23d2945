"""Writes into the pages of docs/reference what the code knows best: run it after a change there.

    python docs/print_reference.py           writes
    python docs/print_reference.py --check   only says which pages are out of date

On a page everything between `<!-- printed: options -->` and `<!-- end -->` is written by the
function of that name. What a name means to a person is said here, beside its name; a name without
a sentence, or a sentence without a name, ends the printing with an error.
"""

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import leasehold
from leasehold import errors
from leasehold.cli.main import COMMANDS, app
from leasehold.define.moves import MOVES, STATES, Room
from leasehold.define.options import Options
from leasehold.define.retry import Retry
from leasehold.maintain.duties import DUTIES
from leasehold.observe.event import EVENTS
from leasehold.runner.run import Pace

REFERENCE = Path(__file__).parent / "reference"
PLACE = re.compile(r"(<!-- printed: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

OPTIONS = {
    "queue": "The line the job waits in. 1 to 63 bytes. `default` where nothing is said.",
    "priority": "Lower goes first. -32768 to 32767; 100 where nothing is said.",
    "delay": "Not before so many seconds from the enqueue, or a `timedelta`. Not with `run_at`.",
    "run_at": "Not before this moment, which has a time zone. Not with `delay`.",
    "deadline": "Not ended by then: the job ends expired. A moment, or seconds from the enqueue. "
    "A run under way is stopped, as by a cancel.",
    "deadline_in": "The same, always counted in seconds from the enqueue. Not with `deadline`.",
    "timeout": "Seconds that one attempt may take, at most 30 days. "
    "On a task it is read when the job runs, on a job it is stored.",
    "max_attempts": "How often the job is tried, 1 to 32767, over what `retry` says.",
    "key": "One live job for each tenant, task and key. At most 500 bytes.",
    "tenant": "Whose job it is: for listing, filtering and the scope of keys. 1 to 63 bytes.",
    "group": "What it belongs to, such as an order or an import. 1 to 200 bytes.",
    "tags": "At most 64 words for people, 1 to 100 bytes each.",
    "id": "Your own id or name for the job, a UUID or 1 to 200 bytes; the commands find it by it.",
    "hold": "Enqueue it held: it waits, with this remark, until a person resumes it.",
    "headers": "A flat dict for programs, such as a trace context. At most 64 entries.",
    "retry": "The retry rule, a `Retry`.",
}
RETRY = {
    "max_attempts": "How often the job is tried in all.",
    "backoff": "`exponential` (base, 2 base, 4 base …), `quadratic` (base times attempt²), "
    "`fixed`, a list of seconds, or a function from the number of failed attempts to seconds.",
    "base": "Seconds of the first wait.",
    "cap": "No wait is longer, at most 30 days.",
    "jitter": "Each wait is spread by this share up and down, 0 to 1.",
    "transient": "Error classes, or functions that answer yes or no, that are tried again.",
    "terminal": "Those that end the job at once.",
    "unknown": "What happens to all other errors: `retry` or `fail`.",
}
PACE = {
    "queues": "Queues to serve. Empty: all that the app's tasks name.",
    "concurrency": "Jobs side by side in one runner.",
    "threads": "How many of them may be in threads.",
    "processes": "How many of them may be in processes of their own.",
    "poll": "Seconds after which an idle runner looks without having been woken.",
    "grace": "Seconds that running jobs have when the worker stops.",
    "hold_back": "Seconds after which a job that was claimed and not begun goes back.",
}


def options() -> Iterator[str]:
    return table(("option", "type", "meaning"), described(Options, OPTIONS, default=False))


def retry() -> Iterator[str]:
    return table(("argument", "type", "default", "meaning"), described(Retry, RETRY))


def pace() -> Iterator[str]:
    return table(("argument", "type", "default", "meaning"), described(Pace, PACE))


def described(cls: type, words: Mapping[str, str], *, default: bool = True) -> Iterator[list[str]]:
    told = [field for field in fields(cls) if field.type != "KW_ONLY"]
    complete(cls.__name__, {field.name for field in told}, set(words))
    for field in told:
        row = [f"`{field.name}`", code(kind(field.type))]
        if default:
            row.append("" if field.default is MISSING else code(repr(field.default)))
        yield [*row, words[field.name]]


def kind(annotation: Any) -> str:
    """A type as a person would write it; None is what every option may be left at."""
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    for long, short in (
        ("collections.abc.", ""),
        ("typing.", ""),
        ("datetime.datetime", "datetime"),
        ("leasehold.define.retry.", ""),
        (" | None", ""),
    ):
        text = text.replace(long, short)
    if text.startswith("tuple[Union[type[BaseException]") or "BaseException" in text:
        return "classes and functions"
    if "'exponential'" in text:
        return "str | list | function"
    return re.sub(r"Literal\[(.*)\]", lambda found: found[1].replace(", ", " | "), text)


def tree() -> Iterator[str]:
    """The drawing at the top of errors.py."""
    yield "```text"
    yield from str(errors.__doc__).split("\n\n", 1)[1].strip().splitlines()
    yield "```"


def error_classes() -> Iterator[str]:
    named = [cls for cls in vars(errors).values() if is_error(cls)]
    return table(
        ("error", "is a", "when", "fields"),
        (
            [code(c.__name__), code(c.__bases__[0].__name__), first_line(c), fields_of(c)]
            for c in named
        ),
    )


def other_errors() -> Iterator[str]:
    """Those that live beside what raises them."""
    modules = [name for name in ours() if name != "leasehold.errors"]
    named = {
        cls.__name__: cls
        for name in modules
        for cls in vars(sys.modules[name]).values()
        if is_error(cls) and cls.__module__ == name
    }
    return table(
        ("error", "is a", "in", "when"),
        (
            [code(name), code(c.__bases__[0].__name__), code(c.__module__), first_line(c)]
            for name, c in sorted(named.items())
        ),
    )


def is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, errors.LeaseholdError)


def ours() -> Iterator[str]:
    """Every module of the package that can be imported here."""
    for found in pkgutil.walk_packages(leasehold.__path__, "leasehold."):
        if ".drivers." in found.name or found.name.endswith("bench.tasks"):
            continue  # each wants its library, or a database
        importlib.import_module(found.name)
        yield found.name


def fields_of(cls: type) -> str:
    made = inspect.signature(cls.__init__).parameters if "__init__" in vars(cls) else {}
    source = inspect.getsource(cls)
    kept = [name for name in made if name != "self" and f"self.{name}" in source]
    return ", ".join(map(code, kept))


def diagram() -> Iterator[str]:
    arrows: dict[tuple[Room, Room], list[str]] = {}
    for verb, (begin, end) in MOVES.items():
        for one in Room:
            for other in Room:
                if one in begin and other in end:
                    arrows.setdefault((one, other), []).append(verb)
    yield "```mermaid"
    yield "stateDiagram-v2"
    for (one, other), verbs in arrows.items():
        here = "[*]" if one is Room.NOTHING else one.value
        there = "[*]" if other is Room.NOTHING else other.value
        yield f"    {here} --> {there}: {', '.join(verbs)}"
    yield "```"


def moves() -> Iterator[str]:
    return table(
        ("verb", "from", "to"),
        ([code(verb), rooms(begin), rooms(end)] for verb, (begin, end) in MOVES.items()),
    )


def rooms(found: Iterable[Room]) -> str:
    return ", ".join(room.value for room in Room if room in found)


STATE = {
    "waiting": "held by a person, or waiting for other jobs",
    "scheduled": "not yet due: a delay, a back-off, a snooze",
    "ready": "may run now",
    "dispatched": "handed to an outside transport, not yet taken",
    "assigned": "claimed by a runner, not begun",
    "running": "its function runs",
    "succeeded": "ended: its function returned",
    "failed": "ended for good: it is in the dead letter",
    "cancelled": "ended: somebody, or its own function, did not want it any more",
    "expired": "ended: its deadline passed while it waited or ran",
}


def states() -> Iterator[str]:
    complete("STATES", set(STATES), set(STATE))
    return table(("state", "means"), ([code(state), STATE[state]] for state in STATES))


def events() -> Iterator[str]:
    return table(
        ("event", "when", "moves jobs"),
        ([code(verb), said, moved(verb)] for verb, said in sorted(EVENTS.items())),
    )


def moved(verb: str) -> str:
    if verb not in MOVES:
        return ""
    begin, end = MOVES[verb]
    return f"{rooms(begin)} → {rooms(end)}"


def duties() -> Iterator[str]:
    return table(
        ("duty", "while there is work", "at the latest"),
        ([code(d.name), f"every {d.every:g} s", f"every {d.idle:g} s"] for d in DUTIES),
    )


def commands() -> Iterator[str]:
    for name in COMMANDS:
        found = list(app[name].assemble_argument_collection())
        places = [a.names[0] for a in found if not a.names[0].startswith("-")]
        yield f"### {name}"
        yield ""
        yield f"`{' '.join(['leasehold', name, *places])}`"
        yield ""
        yield first_line(getattr(importlib.import_module(f"leasehold.cli.{name}"), name))
        yield ""
        named = [a for a in found if a.names[0].startswith("-") or a.parameter.help]
        if named:
            yield from table(("argument", "default", "meaning"), map(argument, named))
            yield ""


def argument(found: Any) -> list[str]:
    names = [name for name in found.names if not name.startswith(("--no-", "--empty-"))]
    default = found.field_info.default
    unsaid = default is inspect.Parameter.empty or default in (None, False, ())
    said = "" if unsaid else code(str(default))
    return [", ".join(map(code, names)), said, found.parameter.help or ""]


def public() -> Iterator[str]:
    return table(
        ("name", "is"),
        ([code(name), first_line(getattr(leasehold, name))] for name in leasehold.__all__),
    )


# Writing.


def first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def complete(what: str, there: set[str], said: set[str]) -> None:
    if there != said:
        odd = ", ".join(sorted(there ^ said))
        message = f"{what}: {odd} is in the code or in docs/print_reference.py, not in both"
        raise SystemExit(message)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    head = list(head)
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    part.__name__: part
    for part in (
        *(options, retry, pace, tree, error_classes, other_errors, diagram, moves, states),
        *(events, duties, commands, public),
    )
}


def printed(page: str) -> str:
    def part(found: re.Match[str]) -> str:
        lines = "\n".join(PARTS[found[2]]()).strip()
        return f"{found[1]}\n{lines}\n\n{found[3]}"

    return PLACE.sub(part, page)


def outdated() -> list[Path]:
    pages = sorted(REFERENCE.glob("*.md"))
    return [page for page in pages if printed(page.read_text()) != page.read_text()]


def main() -> None:
    late = outdated()
    for page in late:
        if "--check" not in sys.argv:
            page.write_text(printed(page.read_text()))
        print(page.name)
    if late and "--check" in sys.argv:
        raise SystemExit("out of date: run python docs/print_reference.py")


if __name__ == "__main__":
    main()
