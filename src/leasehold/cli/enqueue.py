"""`leasehold enqueue TASK name=value ...`: a job, or one for each line of JSON given."""

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Final

import msgspec
from cyclopts import Parameter

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.cli.options import Database
from leasehold.cli.target import load
from leasehold.cli.times import moment, seconds
from leasehold.define.bounds import did_you_mean
from leasehold.define.options import Options
from leasehold.define.task import Definition
from leasehold.enqueue import accept
from leasehold.errors import (
    AccessRefused,
    EnqueueRefused,
    LeaseholdError,
    PayloadError,
    SettingsError,
)
from leasehold.operate.ask import Ask
from leasehold.payloads.codec import Codec
from leasehold.store import reads, verbs

CHUNK: Final = 1_000  # lines in one statement


def enqueue(
    task: Annotated[str, Parameter(help="the task's name")],
    /,
    *arguments: Annotated[
        str, Parameter(help="name=value; a value that reads as JSON is JSON, else text")
    ],
    json: Annotated[str | None, Parameter(help="all arguments as one JSON object")] = None,
    stdin: Annotated[
        bool, Parameter(negative="", help="a job for each line of JSON on standard input")
    ] = False,
    app: Annotated[
        str | None,
        Parameter(help="module:app whose task it is: arguments are checked by its signature"),
    ] = None,
    queue: Annotated[str | None, Parameter(help="into this queue")] = None,
    priority: Annotated[int | None, Parameter(help="lower goes first; 100 when left out")] = None,
    delay: Annotated[str | None, Parameter(help="not before so long from now: 90, 5m, 2h")] = None,
    run_at: Annotated[str | None, Parameter(help="not before this time")] = None,
    key: Annotated[
        str | None, Parameter(help="idempotency key: one live job of the task has it")
    ] = None,
    tenant: Annotated[str | None, Parameter(help="whose job it is")] = None,
    group: Annotated[str | None, Parameter(help="what it belongs to")] = None,
    tag: Annotated[list[str] | None, Parameter(negative="", help="may be given again")] = None,
    timeout: Annotated[str | None, Parameter(help="how long an attempt may take")] = None,
    deadline: Annotated[
        str | None, Parameter(help="not ended so long from now, or by this time: it expires")
    ] = None,
    max_attempts: Annotated[int | None, Parameter(help="runs until it counts as failed")] = None,
    id: Annotated[str | None, Parameter(help="your own id for it")] = None,  # noqa: A002
    hold: Annotated[str | None, Parameter(help="enqueue it held, for this reason")] = None,
    database: Database = None,
) -> int:
    """Enqueues a job, or with --stdin many, and prints the ids."""
    said = Options.checked(
        queue=queue, priority=priority, delay=seconds("delay", delay) if delay else None,
        run_at=moment("run-at", run_at) if run_at else None, key=key, tenant=tenant, group=group,
        tags=tag, timeout=seconds("timeout", timeout) if timeout else None,
        deadline=_deadline(deadline),
        max_attempts=max_attempts, id=id, hold=hold,
    )  # fmt: skip
    if sum((bool(arguments), json is not None, stdin)) > 1:
        msg = "say the arguments once: as name=value, by --json, or by --stdin"
        raise SettingsError(msg)
    definition = _definition(task, app)
    options = said.over(definition.options)

    def row(given: dict[str, Any]) -> accept.Row:
        args, kwargs = definition.codec.decode_call(msgspec.json.encode(given))
        return accept.row(definition, options, args, kwargs)

    if stdin:
        if key is not None or id is not None:
            msg = "--key and --id are one job's own: they do not go with --stdin"
            raise SettingsError(msg)
        with house.asking(database) as ask:
            return _many(ask, row)
    made = _object(json, row) if json is not None else _pairs(arguments, row)
    with house.asking(database) as ask:
        [stored] = _store(ask, [made])
        queue_served = _served(ask, made, stored)
    if stored.duplicate_of is None:
        screen.say(stored.id)
        if not queue_served:
            screen.complain(
                f"no live worker of queue {accept.queue_of(made)!r} knows a task {task!r}: was "
                "another --queue meant? --app module:app takes the task's own"
            )
    else:
        screen.say(
            f"{stored.id} duplicate of {stored.duplicate_of}: it never runs, that one has the key"
        )
    return 0


def _deadline(said: str | None) -> Any:
    if said is None:
        return None
    try:
        return seconds("deadline", said)
    except SettingsError:
        return moment("deadline", said)


def _definition(task: str, target: str | None) -> Definition:
    if target is None:

        def anything(**arguments: Any) -> None: ...

        return Definition.of(anything, codec_of=Codec.of, name=task)
    known = load(target).definitions
    if task in known:
        return known[task]
    near = did_you_mean(task, known) or f"; it has {', '.join(sorted(known)) or 'no task at all'}"
    msg = f"{target} has no task {task!r}{near}"
    raise SettingsError(msg)


def _object(said: str, row: Callable[[dict[str, Any]], accept.Row]) -> accept.Row:
    try:
        given = msgspec.json.decode(said)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        msg = f"--json is not JSON: {error}"
        raise SettingsError(msg) from None
    if not isinstance(given, dict):
        msg = "--json takes an object, the task's arguments by name"
        raise SettingsError(msg)
    return row(given)


def _pairs(said: Sequence[str], row: Callable[[dict[str, Any]], accept.Row]) -> accept.Row:
    texts: dict[str, str] = {}
    for pair in said:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            msg = f"{pair!r} is not name=value"
            raise SettingsError(msg)
        texts[name] = value
    read = {name: _read(text) for name, text in texts.items()}
    # What reads as JSON may be meant as a text: a zip code is no number. The signature decides.
    doubtful = [name for name in texts if not isinstance(read[name], str)]
    tries = [read, *({**read, name: texts[name]} for name in doubtful), texts]
    first: PayloadError | None = None
    for given in tries:
        try:
            return row(given)
        except PayloadError as error:
            first = first or error
    assert first is not None  # noqa: S101 - the last try failed too
    raise first


def _read(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text


def _store(ask: Ask, rows: list[accept.Row]) -> list[verbs.Enqueued]:
    stored = ask(verbs.enqueue(accept.document(rows)))
    if queues := sorted({accept.queue_of(row) for row in rows if accept.runs_at_once(row)}):
        ask(verbs.wake(queues, len(rows)))
    return stored


def _served(ask: Ask, row: accept.Row, stored: verbs.Enqueued) -> bool:
    """False where workers are alive, and none of them would take this job."""
    try:
        around = ask(reads.prospects(accept.queue_of(row), row["task"], stored.id, 0))
    except AccessRefused:  # a producer may not look
        return True
    return not around["workers"] or bool(around["able"])


def _many(ask: Ask, row: Callable[[dict[str, Any]], accept.Row]) -> int:
    """A statement for each thousand lines; a bad one stops it, and what was printed is enqueued."""
    done = 0
    with screen.progress("enqueueing", None) as advance:
        lines = ((n, line) for n, line in enumerate(sys.stdin.buffer, 1) if line.strip())
        for chunk in _chunks(lines):
            rows: list[accept.Row] = []
            problem: LeaseholdError | None = None
            for number, line in chunk:
                try:
                    rows.append(_line(number, line, row))
                except LeaseholdError as error:
                    problem = error
                    break
            if rows:
                for stored in _store(ask, rows):
                    sys.stdout.write(f"{stored.id}\n")
                done += len(rows)
                advance(len(rows))
            if problem is not None:
                msg = f"{problem}; {done} jobs of the lines before it are enqueued"
                raise EnqueueRefused(msg)
    return 0


def _line(number: int, line: bytes, row: Callable[[dict[str, Any]], accept.Row]) -> accept.Row:
    try:
        given = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        msg = f"line {number} is not JSON: {error}"
        raise EnqueueRefused(msg) from None
    if not isinstance(given, dict):
        msg = f"line {number} is no JSON object of arguments by name"
        raise EnqueueRefused(msg)
    try:
        return row(given)
    except PayloadError as error:
        msg = f"line {number}: {error}"
        raise EnqueueRefused(msg) from None


def _chunks(lines: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    while chunk := list(itertools.islice(lines, CHUNK)):
        yield chunk
