"""Whatever the steps of two verbs come between, each job ends as if one verb had gone first.

LEASEHOLD_SCHEDULE=finish,cancel:AABAB goes one schedule again; LEASEHOLD_GATES (4) and
LEASEHOLD_PREEMPTIONS (2) say how finely a verb is cut and how often it is left in the middle.
"""

import os
import re
from collections.abc import Iterator
from itertools import combinations_with_replacement

import pytest

from audit import audit
from leasehold.define.moves import MOVES
from leasehold.testing import Databases
from proof.explorer import VERBS, Explorer, strays

PAIRS = list(combinations_with_replacement(VERBS, 2))
SHARES = 12
REPLAY = os.environ.get("LEASEHOLD_SCHEDULE")


@pytest.fixture(scope="module")
def explorer(leasehold_databases: Databases) -> Iterator[Explorer]:
    dsn = leasehold_databases.make()
    explorer = Explorer(dsn, audit)
    yield explorer
    explorer.close()
    leasehold_databases.drop(dsn)


def test_every_verb_that_moves_jobs_is_explored() -> None:
    others = {"beat", "rotate", "retain", "retire", "purge", "save", "lead", "leave"}
    assert set(MOVES) | others <= set(VERBS)


def test_the_stage_is_sound(explorer: Explorer) -> None:
    explorer.reset()
    assert audit(explorer.driver) == []


@pytest.mark.skipif(bool(REPLAY), reason="LEASEHOLD_SCHEDULE asks for one schedule")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("share", range(SHARES))
def test_two_verbs_at_once_leave_each_job_as_one_after_the_other(
    explorer: Explorer, share: int
) -> None:
    found = []
    for pair in PAIRS[share::SHARES]:
        # The first schedule of a pair tells enough: the others mostly say the same.
        found += [f"LEASEHOLD_SCHEDULE={wrong}" for wrong in explorer.wrong(pair)[:1]]
    print(f"\n{explorer.schedules} schedules, {explorer.late} came right a moment later")
    assert found == []


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_is_stopped_at_any_gate_has_done_nothing(explorer: Explorer, verb: str) -> None:
    explorer.reset()
    before = explorer.tables(without="open")  # which segment is open is told outside transactions
    for n in range(len(explorer.gates(verb))):
        explorer.stop_at(verb, n)
        assert explorer.tables(without="open") == before, explorer.gates(verb)[n]
        assert audit(explorer.driver) == [] or verb == "rotate"
        answers = " ".join(str(s.answers) for s in explorer.serials((verb, "claim")))
        # The claimer's own worker may have left: then, and only then, its claim is refused.
        assert re.findall(r"error (\w+)", answers) == (["LH002"] if verb == "leave" else [])


@pytest.mark.skipif(not REPLAY, reason="LEASEHOLD_SCHEDULE names the schedule to go again")
def test_one_schedule_again(explorer: Explorer) -> None:
    pair, _, schedule = str(REPLAY).split(" ", maxsplit=1)[0].partition(":")
    verbs = pair.split(",")
    went, _, outcome = explorer.run(verbs, schedule)
    print(f"\n{went}\nA passed {explorer.a.passed}\nB passed {explorer.b.passed}\n{outcome}")
    assert strays(outcome, explorer.serials(verbs), verbs) == []
