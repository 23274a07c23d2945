"""leave: a worker goes for good."""

import pytest

from leasehold.store import verbs
from leasehold.store.refusal import RunnerDead


def test_what_its_runners_hold_is_given_back_unharmed(house):
    worker = house.worker()
    runners = [house.runner(worker) for _ in range(2)]
    jobs = [house.running(runner) for runner in runners]
    house.call(verbs.leave(worker))
    assert [house.state(job.id) for job in jobs] == ["ready", "ready"]
    assert [house.history(job.id) for job in jobs] == [[], []]


def test_its_runners_never_claim_again(house):
    runner = house.runner()
    house.call(verbs.leave(house.workers[runner]))
    with pytest.raises(RunnerDead):
        house.claim(runner)


def test_other_workers_stay(house):
    runner = house.runner()
    job = house.running(runner)
    house.call(verbs.leave(house.worker()))
    assert house.finish(runner, job) == {}


def test_leadership_is_open_at_once(house):
    first, second = house.worker(), house.worker()
    house.call(verbs.lead(first))
    assert house.call(verbs.lead(second)) is None
    house.call(verbs.leave(first))
    assert house.call(verbs.lead(second)) == 2


def test_to_leave_twice_does_no_harm(house):
    runner = house.runner()
    for _ in range(2):
        house.call(verbs.leave(house.workers[runner]))
    assert house.count("worker") == 0


def test_more_than_a_thousand_held_jobs_all_go_back(house):
    runner = house.runner()
    house.enqueue_many(2400)
    for _ in range(6):
        house.claim(runner, 400)
    house.call(verbs.leave(house.workers[runner]))
    assert (house.count("running"), house.count("ready")) == (0, 2400)
