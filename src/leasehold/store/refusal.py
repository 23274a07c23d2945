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

NOT_ALLOWED: Final = "42501"
# Of each role what others may not call. What several may is a producer's, who may the least.
_ROLES: Final = {
    "leasehold_runner": frozenset(
        [
            "claim",
            "finish",
            "release",
            "take",
            "dispatch",
            "sleep",
            "enrol",
            "hire",
            "leave",
            "beat",
            "save",
            "lead",
            "reap",
            "promote",
            "unblock",
            "expire",
            "rotate",
            "partition",
            "fold",
            "retain",
            "retire",
            "retire_rest",
            "bodies",
            "checkpoints",
        ]
    ),
    "leasehold_operator": frozenset(
        ["cancel", "hold", "resume", "retry", "redrive", "discard", "purge"]
    ),
    "leasehold_reader": frozenset(
        [
            "in_room",
            "held_by",
            "locate",
            "backlog",
            "fleet",
            "jobs_page",
            "timeline",
            "prospects",
            "redrivable",
            "health_server",
            "health_schema",
            "health_jobs",
        ]
    ),
}
_REFUSED: Final = re.compile(r"permission denied for (function|table|view) (\w+)")
_JOB: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class RunnerDead(DatabaseError):
    """This runner was reaped: whatever it held is somebody else's. Never reaches a user."""


class AstrayId(EnqueueRefused):
    """An id's time is not the database's: its clock has jumped, or another server answers now."""


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
        case "22023" if "was not made here" in message:
            return AstrayId(f"nothing was enqueued: {text}")
        case "22023" | "22P02" | "22P05" | "22003" | "22008" | "23502":
            return EnqueueRefused(f"nothing was enqueued: {text}")
        case "23514":  # no partition found
            return EnqueueRefused(
                f"nothing was enqueued: {message}; the days ahead are missing, "
                "run `leasehold doctor`"
            )
        case "3F000" | "42P01" | "42883" | "42704":
            return SchemaMissing()
        case _ if state == NOT_ALLOWED:
            return AccessRefused(text, _role_for(message))
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


def _role_for(message: str) -> str | None:
    """The role that was missing, where the message tells what it was missing for."""
    if (found := _REFUSED.search(message)) is None:
        return None
    kind, name = found.groups()
    if kind != "function":
        return "leasehold_producer" if name == "job" else "leasehold_reader"
    return next((role for role, may in _ROLES.items() if name in may), "leasehold_producer")
