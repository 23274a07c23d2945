"""What a database's refusal means to a person: SQLSTATE in, one of our errors out."""

import re
from typing import Final

from leasehold.errors import (
    AccessRefused,
    ConnectionUnusable,
    DatabaseError,
    EnqueueRefused,
    LeaseholdError,
    LeaseLost,
    SchemaMissing,
    StorageFull,
    Unreachable,
)

_JOB: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class RunnerDead(DatabaseError):
    """This runner was reaped: whatever it held is somebody else's. Never reaches a user."""


def explained(  # noqa: C901, PLR0911 - a table: a line for each state
    state: str | None, message: str, hint: str | None = None
) -> LeaseholdError | None:
    """Our error for a SQLSTATE, or None where the driver's own says it best.

    Never carries DETAIL: rows stand there.
    """
    text = message if not hint else f"{message}. {hint}"
    match state:
        case "LH001":
            found = _JOB.search(message)
            return LeaseLost(found[0] if found else "", message)
        case "LH002":
            return RunnerDead(message)
        case "22023" | "22P02" | "22P05" | "22003" | "22008" | "23502":
            return EnqueueRefused(f"nothing was enqueued: {text}")
        case "23514":  # no partition found
            return EnqueueRefused(
                f"nothing was enqueued: {message}; the days ahead are missing, "
                "run `leasehold doctor`"
            )
        case "3F000" | "42P01" | "42883" | "42704":
            return SchemaMissing()
        case "42501":
            return AccessRefused(
                f"{text}: grant the role leasehold_producer, leasehold_runner or leasehold_operator"
            )
        case "25006":
            return ConnectionUnusable(
                f"the connection is read-only, nothing was stored ({message}); "
                "hand over one to the primary"
            )
        case "25P02":
            return ConnectionUnusable(
                "the connection's transaction has failed already, nothing was stored; "
                "roll it back first"
            )
        case "53100":
            return StorageFull(
                f"the database's disk is full, nothing was stored ({message}); "
                "free space, then try again"
            )
        case "57P01" | "57P02" | "57P03" | "08000" | "08003" | "08006" | "08001" | "53300":
            return Unreachable(message)
        case _:
            return None
