"""What was asked becomes a row of leasehold.job, checked at the door."""

from typing import Any

import msgspec

from leasehold.define.options import Options
from leasehold.define.task import Definition

Row = dict[str, Any]

QUEUE = "default"
PRIORITY = 100


def row(
    definition: Definition, options: Options, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Row:
    """Raises before anything is written; `payload` is JSON already."""
    made = columns(definition, options)
    made["payload"] = msgspec.Raw(definition.codec.encode(args, kwargs))
    return made


def columns(definition: Definition, options: Options) -> Row:
    """All but the payload."""
    made: Row = {"task": definition.name}
    for column, value in (
        ("queue", options.queue), ("priority", options.priority), ("delay", options.delay),
        ("run_at", options.run_at), ("deadline", options.deadline),
        ("deadline_in", options.deadline_in), ("timeout", options.timeout),
        ("max_attempts", options.max_attempts), ("key", options.key), ("tenant", options.tenant),
        ("group", options.group), ("tags", options.tags), ("name", options.id),
        ("headers", options.headers), ("hold", options.hold),
    ):  # fmt: skip
        if value is not None:
            made[column] = value
    # What the definition says about timeouts and attempts is not frozen here: the code that runs
    # the job is asked for it.
    return made


def document(rows: list[Row]) -> str:
    return msgspec.json.encode(rows).decode()


def queue_of(made: Row) -> str:
    queue: str = made.get("queue", QUEUE)
    return queue


def runs_at_once(made: Row) -> bool:
    return "hold" not in made and "run_at" not in made and not made.get("delay")
