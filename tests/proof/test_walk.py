"""The rooms do what the model says, whatever the verbs and their order.

LEASEHOLD_WALKS says how many walks (2,000); LEASEHOLD_WALK=seed or =seed:step,step... walks one
again and tells what it did.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from leasehold.define.moves import MOVES
from leasehold.testing import Databases
from proof.ground import Ground
from proof.walk import PAIRS, STEPS, Differs, Seen, Walk, shrunk

WALKS = int(os.environ.get("LEASEHOLD_WALKS", "2000"))
SHARES = 4
REPLAY = os.environ.get("LEASEHOLD_WALK")
# In one process: what they came by together is counted.
pytestmark = pytest.mark.xdist_group("walks")
ENOUGH = 2000  # walks that come by everything

REFUSALS = {
    *("enqueue 22023", "enqueue duplicate", "claim LH002", "take LH002", "take of nothing"),
    *("finish LH001", "finish already", "finish lost", "release of nothing", "lead refused"),
    *("beat dead", "beat gone", "beat cancel", "reap nobody", "claim with marks"),
    *("cancel cancelled", "cancel requested", "cancel ended", "cancel not_found"),
    *(f"hold {state}" for state in ("waiting", "dispatched", "running", "assigned")),
    *(f"hold {state}" for state in ("succeeded", "failed", "cancelled", "expired", "not_found")),
    *(f"resume {state}" for state in ("waiting", "ready", "scheduled", "running", "not_found")),
    *(f"retry {state}" for state in ("waiting", "scheduled", "ready", "dispatched", "running")),
    *("retry retried", "retry key_taken", "retry not_found", "redrive retried"),
    *(f"discard {state}" for state in ("ready", "running", "succeeded", "failed", "not_found")),
    *("discard discarded", "rotate sealed", "rotate emptied", "rotate opened"),
}
# A way of MOVES that is not built yet: waiting for children, or for a signal.
UNBUILT = {("finish", "running", "waiting")}


@pytest.fixture(scope="module")
def ground(leasehold_databases: Databases) -> Iterator[Ground]:
    dsn = leasehold_databases.make()
    ground = Ground(dsn)
    yield ground
    ground.close()
    leasehold_databases.drop(dsn)


@pytest.fixture(scope="module")
def seen() -> Seen:
    return Seen()


def failure(ground: Ground, seed: int, steps: list[int]) -> str:
    """What the walk did and where it went apart, or nothing."""
    walk = Walk(ground, seed)
    try:
        walk.go(steps)
    except Differs as differs:
        told = "\n".join(walk.log)
        again = f"LEASEHOLD_WALK={seed}:{','.join(map(str, steps))}"
        return f"{told}\n{differs}\nreplay: {again} pytest {Path(__file__).name}"
    return ""


def shortest_failure(ground: Ground, seed: int) -> str:
    steps = shrunk(lambda some: bool(failure(ground, seed, list(some))), range(STEPS))
    return failure(ground, seed, steps)


@pytest.mark.skipif(bool(REPLAY), reason="LEASEHOLD_WALK asks for one walk")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("share", range(SHARES))
def test_any_walk_through_the_rooms_ends_where_the_model_ends(
    ground: Ground, seen: Seen, share: int
) -> None:
    for seed in range(share, WALKS, SHARES):
        walk = Walk(ground, seed, seen)
        try:
            walk.go()
        except Differs as first:
            pytest.fail(shortest_failure(ground, seed) or f"seed {seed} failed once: {first}")


def test_the_walks_together_came_by_everything(seen: Seen) -> None:
    if seen.steps < ENOUGH * STEPS:
        pytest.skip(f"after {ENOUGH} walks")
    print(f"\n{seen.steps} steps, {len(seen.pairs)} pairs", sorted(seen.answers.items()))
    assert [pair for pair in PAIRS if pair not in seen.pairs] == []
    assert {answer for answer in REFUSALS if not seen.answers[answer]} == set()
    made = {(verb, a, b) for verb, a, b in seen.moves if verb != "redrive"}
    assert all_moves() - UNBUILT - made == set()


def all_moves() -> set[tuple[str, str, str]]:
    """Those that the table names and that lead anywhere else: redrive is retry for many."""
    ways = {
        (verb, begin.value, end.value)
        for verb, (begins, ends) in MOVES.items()
        for begin in begins
        for end in ends
        if verb != "redrive"
    }
    # A dispatched job that was lost never ran: it is not buried for that, and who wanted it to
    # stop has ended it at once.
    never = {("reap", "dispatched", "ended"), ("reap", "dispatched", "dead")}
    return ways - never


@pytest.mark.skipif(not REPLAY, reason="LEASEHOLD_WALK names the walk to go again")
def test_one_walk_again(ground: Ground) -> None:
    seed, _, steps = str(REPLAY).partition(":")
    chosen = [int(n) for n in steps.split(",")] if steps else list(range(STEPS))
    assert failure(ground, int(seed), chosen) == ""
