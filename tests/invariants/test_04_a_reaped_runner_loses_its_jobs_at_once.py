"""4. A runner whose lease was reaped loses its jobs at once, and is told."""

import pytest

from leasehold.store import verbs
from leasehold.store.refusal import RunnerDead


def test_at_once_and_told_with_its_next_beat(house):
    leader = house.leader()
    runner = house.runner()
    job = house.running(runner)
    house.outlive_leases(leader)
    house.call(verbs.reap(9))
    assert house.rooms(job.id) == {"ready"}
    assert house.beat(runner, [job.bundle])["dead"] == [runner]


def test_it_can_claim_nothing_more(house):
    runner = house.runner()
    house.call(verbs.reap(9, runner, []))
    house.enqueue()
    with pytest.raises(RunnerDead):
        house.claim(runner)


def test_a_beat_that_came_first_keeps_all(house):
    leader = house.leader()
    runner, other = house.runner(), house.connect()
    job = house.running(runner)
    house.outlive_leases(leader)
    with other.transaction():
        house.call(verbs.beat(house.workers[runner], [{"id": runner, "bundles": [1]}]), other)
        assert house.call(verbs.reap(9)) == 0
    assert house.call(verbs.reap(9)) == 0
    assert house.finish(runner, job) == {}
