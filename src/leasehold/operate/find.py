"""The job somebody means: by its id, by the caller's own name for it, or by the key it holds."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from leasehold.errors import JobError, NotFound, SettingsError
from leasehold.operate.ask import Ask
from leasehold.store import reads
from leasehold.store.call import Rows

_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NEARLY: Final = re.compile(r"[0-9a-fx-]{30,40}")  # nobody calls a job so; it is an id with a slip


class Ambiguous(JobError):
    """Several jobs go by this name."""

    def __init__(self, said: str, jobs: Sequence[UUID]) -> None:
        self.jobs = jobs
        listed = ", ".join(map(str, jobs[:5]))
        more = f" and {len(jobs) - 5} more" if len(jobs) > 5 else ""  # noqa: PLR2004 - as many as are listed
        super().__init__(repr(said), f"could be {listed}{more}: say which by its id")


@dataclass(frozen=True, slots=True)
class Found:
    """`duplicate_of` is the job that has the key: this one never runs."""

    asked: str
    id: UUID
    duplicate_of: UUID | None


def checked(said: str) -> str:
    """The door: what was meant as an id must be one."""
    text = said.strip()
    if not text or "\0" in text:
        msg = "an empty text names no job: write its id, its name or its key"
        raise SettingsError(msg)
    low = text.lower()
    if _ID.fullmatch(low):
        return low
    if _NEARLY.fullmatch(low):
        msg = f"{text!r} is not a job's id: an id has 36 characters, 8-4-4-4-12 hexadecimal digits"
        raise SettingsError(msg)
    return text


def one(ask: Ask, said: str) -> Found:
    """NotFound, or Ambiguous, where it is not exactly one."""
    answer = several(ask, [said])[0]
    if isinstance(answer, JobError):
        raise answer
    return answer


def several(ask: Ask, said: Sequence[str]) -> list[Found | JobError]:
    """One answer for each text, in their order; a problem is a value here, so that others go on."""
    texts = [checked(text) for text in said]
    return chosen(texts, ask(reads.locate(texts)))


def chosen(texts: Sequence[str], rows: Rows) -> list[Found | JobError]:
    """The same from what the database located."""
    hits: dict[str, list[Found]] = {}
    for asked, job, twin in rows:
        hits.setdefault(asked, []).append(Found(asked, job, twin))
    return [_single(text, hits.get(text, [])) for text in texts]


def _single(said: str, found: list[Found]) -> Found | JobError:
    if not found:
        return NotFound(said)
    first = [one for one in found if one.duplicate_of is None] or found
    return first[0] if len(first) == 1 else Ambiguous(said, [one.id for one in first])
