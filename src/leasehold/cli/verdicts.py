"""Carries out a people's verb on the jobs that were named, and says what came of each."""

from collections.abc import Sequence

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.define import bounds
from leasehold.errors import SettingsError
from leasehold.operate.act import act


def carry_out(
    verb: str,
    jobs: Sequence[str],
    reason: str | None,
    *,
    json: bool,
    database: str | None,
    queue: str | None = None,
    priority: int | None = None,
) -> int:
    """0 when all was done, 1 when some could not."""
    if not jobs:
        msg = f"{verb} takes at least one job: write its id, its name or its key"
        raise SettingsError(msg)
    if queue is not None:
        bounds.text("queue", queue, 63)
    if priority is not None:
        bounds.priority("priority", priority)
    with house.asking(database) as ask:
        answers = act(ask, verb, jobs, house.actor(), reason, queue=queue, priority=priority)
    if json:
        screen.document(answers)
    else:
        for answer in answers:
            if answer.done:
                named = f" ({answer.asked})" if str(answer.job) != answer.asked.lower() else ""
                screen.say(f"{answer.job}{named} {answer.text}")
            else:
                screen.complain(f"job {answer.asked} {answer.text}")
    return 0 if all(answer.done for answer in answers) else 1
