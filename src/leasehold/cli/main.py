"""Joins the commands, and turns every error of ours into one plain sentence: exit 1 where the world is at fault, 2 where the call is."""

import os
import sys

import cyclopts
from cyclopts import CycloptsError

from leasehold.errors import LeaseholdError, SettingsError
from leasehold.payloads.failure import clean

app = cyclopts.App(
    name="leasehold",
    help="Durable background jobs on the Postgres you already run.",
    version_flags=["--version"],
)

# module: every command is one function of the same name in a module of the same name; it is imported when it is called.
COMMANDS = (
    "up", "worker", "enqueue", "status", "jobs", "show", "explain", "retry", "cancel", "hold", "resume", "redrive", "discard",
    "migrate", "doctor", "bench",
)  # fmt: skip

for name in COMMANDS:
    app.command(f"leasehold.cli.{name}:{name}", name=name)


def run(arguments: list[str] | None = None) -> None:
    """Exit codes: 0 done, 1 it could not be done, 2 the call was wrong."""
    sys.exit(code(arguments))


def code(arguments: list[str] | None = None) -> int:
    try:
        answer = app(arguments, exit_on_error=False, print_error=False)
    except SettingsError as error:
        return _said(error, 2)
    except (CycloptsError,) as error:
        return _said(error, 2)
    except LeaseholdError as error:
        return _said(error, 1)
    except BrokenPipeError:
        # `leasehold jobs | head`: the reader has gone, which is no fault of anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 1
    return answer if isinstance(answer, int) else 0


def _said(error: Exception, exit_code: int) -> int:
    print(f"leasehold: {clean(str(error))}", file=sys.stderr)  # noqa: T201
    return exit_code
