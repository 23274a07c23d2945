"""`leasehold enqueue TASK name=value ...`: a job, or one for each line of JSON given."""

import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Annotated, Any, Final
from uuid import UUID

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
    Unreachable,
)
from leasehold.operate.ask import Ask
from leasehold.payloads.codec import Codec
from leasehold.store import connect, reads, verbs

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
        with house.opened(database) as found:
            return _many(found, row)
    try:
        made = _object(json, row) if json is not None else _pairs(arguments, row)
    except PayloadError as error:
        raise SettingsError(str(error)) from None
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
        screen.say(stored.duplicate_of)
        screen.complain(
            f"the live job {stored.duplicate_of} has the key {key!r}: {stored.id} is its duplicate "
            "and never runs"
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


def _many(found: house.Open, row: Callable[[dict[str, Any]], accept.Row]) -> int:
    """All lines are read and checked before the first is stored, and stored all or none."""
    with tempfile.TemporaryFile() as kept:
        count, queues = _check_all(kept, row)
        if not count:
            return 0
        ids: list[UUID] = []
        try:
            with found.connection.transaction(), screen.progress("enqueueing", count) as advance:
                for lines in _chunks(kept):
                    stored = found.ask(verbs.enqueue(f"[{b','.join(lines).decode()}]"))
                    ids += [one.id for one in stored]
                    advance(len(stored))
        except (LeaseholdError, connect.Error) as error:
            raise _not_stored(error, ids, count) from None
    if queues:
        found.ask(verbs.wake(sorted(queues), count))
    sys.stdout.writelines(f"{job}\n" for job in ids)
    return 0


def _check_all(
    kept: IO[bytes], row: Callable[[dict[str, Any]], accept.Row]
) -> tuple[int, set[str]]:
    """How many jobs, and the queues in which they may run at once. The rows go to a file.

    A stream may be larger than the memory, and slower than a transaction should be open.
    """
    count, queues = 0, set[str]()
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        made = _line(number, line, row)
        kept.write(msgspec.json.encode(made) + b"\n")
        count += 1
        if accept.runs_at_once(made):
            queues.add(accept.queue_of(made))
    kept.seek(0)
    return count, queues


def _not_stored(error: Exception, ids: Sequence[UUID], count: int) -> LeaseholdError:
    if len(ids) < count:
        return EnqueueRefused(f"none of the {count} jobs is stored: {error}")
    return Unreachable(
        f"the database went away while {count} jobs were committed ({error}): before you run it "
        f"again ask `leasehold show {ids[0]}`; if that job is there, all are"
    )


def _line(number: int, line: bytes, row: Callable[[dict[str, Any]], accept.Row]) -> accept.Row:
    try:
        given = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        msg = f"line {number} is not JSON: {error}; nothing is stored"
        raise SettingsError(msg) from None
    if not isinstance(given, dict):
        msg = f"line {number} is no JSON object of arguments by name; nothing is stored"
        raise SettingsError(msg)
    try:
        return row(given)
    except PayloadError as error:
        msg = f"line {number}: {error}; nothing is stored"
        raise SettingsError(msg) from None


def _chunks(kept: IO[bytes]) -> Iterator[list[bytes]]:
    while lines := list(itertools.islice(kept, CHUNK)):
        yield lines
