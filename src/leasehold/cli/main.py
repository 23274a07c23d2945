"""Joins the commands, and turns every error of ours into one plain sentence.

Exit code 1 where the world is at fault, 2 where the call is.
"""

import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import cyclopts
from cyclopts import CycloptsError

from leasehold.define.bounds import did_you_mean
from leasehold.errors import AccessRefused, LeaseholdError, SettingsError, Unreachable
from leasehold.payloads.failure import clean

# Each is a function of this name in a module of this name, imported when it is called.
GROUPS: Final = {
    "Run": {
        "up": "Postgres, a worker and sample jobs in one go: the place to begin",
        "worker": "run the jobs of an app",
        "migrate": "install the schema, or bring it to this release",
    },
    "Enqueue": {"enqueue": "a job from the command line, or many from standard input"},
    "Look": {
        "status": "what waits where, who works, how fast it goes",
        "jobs": "list jobs by state, queue, task, tenant, error and more",
        "show": "one job's whole story",
        "explain": "why a job has not run, or why it failed",
        "doctor": "what is wrong with the house, and what to do",
        "url": "the database's address, for psql and other programs",
    },
    "Change": {
        "retry": "dead or ended jobs may run again",
        "cancel": "jobs end, or are told to stop",
        "hold": "jobs wait for you",
        "resume": "held jobs go on",
        "redrive": "many dead jobs may run again, chosen by filter",
        "discard": "jobs leave the dead letter for good",
        "purge": "a tenant leaves, with all that was kept of it",
    },
    "Other": {
        "bench": "measure this machine",
        "completion": "a script for your shell: source <(leasehold completion bash)",
    },
}
# What one may be refused is said for the whole command: a job is found before it is cancelled.
ROLES: Final = {
    "enqueue": "leasehold_producer",
    "worker": "leasehold_runner",
    **dict.fromkeys(GROUPS["Look"], "leasehold_reader"),
    **dict.fromkeys(GROUPS["Change"], "leasehold_operator"),
}
COMMANDS: Final = tuple(name for commands in GROUPS.values() for name in commands)


def _version() -> str:
    from leasehold import __version__  # noqa: PLC0415

    return __version__


app = cyclopts.App(
    name="leasehold",
    help="Durable background jobs on the Postgres you already run.",
    help_epilogue="Begin with `leasehold up`. `leasehold COMMAND --help` tells more of each.",
    version=_version,
    version_flags=["--version"],
    help_format="plaintext",
)
for order, (title, commands) in enumerate(GROUPS.items()):
    group = cyclopts.Group(title, sort_key=order)
    for place, (name, says) in enumerate(commands.items()):
        app.command(
            f"leasehold.cli.{name}:{name}", name=name, group=group, help=says, sort_key=place
        )

app["--help"].group = app["--version"].group = cyclopts.Group("Options", sort_key=len(GROUPS))


def run(arguments: list[str] | None = None) -> None:
    """Exit codes: 0 done, 1 it could not be done, 2 the call was wrong."""
    exit_code = code(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        exit_code = _reader_gone()
    sys.exit(exit_code)


def code(arguments: list[str] | None = None) -> int:  # noqa: PLR0911 - a kind of end each
    given = sys.argv[1:] if arguments is None else arguments
    if (wrong := _unknown(given)) is not None:
        return _said(wrong, 2)
    try:
        answer: Any = app(
            given, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except (SettingsError, CycloptsError) as error:
        return _said(error, 2)
    except AccessRefused as error:
        if error.refusal.startswith("permission denied"):
            error = AccessRefused(error.refusal, ROLES.get(given[0], error.role))
        return _said(error, 1)
    except LeaseholdError as error:
        return _said(error, 1)
    except BrokenPipeError:
        return _reader_gone()
    except KeyboardInterrupt:
        return 1
    except Exception as error:
        if (text := _of_the_database(error)) is None:
            raise
        return _said(text, 1)
    return answer if isinstance(answer, int) else 0


def _unknown(given: Sequence[str]) -> str | None:
    """A command that is not there, said without importing those that are."""
    if not given or given[0].startswith("-") or given[0] in COMMANDS:
        return None
    near = did_you_mean(given[0], COMMANDS) or "; `leasehold --help` lists them"
    return f"there is no command {given[0]!r}{near}"


def _of_the_database(error: Exception) -> str | None:
    from leasehold.store import connect  # noqa: PLC0415 - loaded already where such an error comes from

    if not isinstance(error, connect.Error):
        return None
    return f"the database refused: {str(error).strip() or type(error).__name__}"


def _reader_gone() -> int:
    # `leasehold jobs | head`: the reader has gone, which is no fault of anybody.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _said(error: Exception | str, exit_code: int) -> int:
    from leasehold.cli.screen import safe  # noqa: PLC0415

    # What a driver says in several lines is one fact; our own messages have lines where they help.
    if isinstance(error, Unreachable):
        error = " ".join(str(error).split())
    first, *others = clean(str(error)).splitlines() or [""]
    print(f"leasehold: {safe(first)}", *map(safe, others), sep="\n", file=sys.stderr)  # noqa: T201
    return exit_code
