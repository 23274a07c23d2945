"""take: dispatched → running."""

import pytest

from leasehold.errors import AccessRefused
from leasehold.store import verbs
from leasehold.store.refusal import RunnerDead
from testhouse import Claimed


def sent(house, count=1, **columns):
    house.enqueue_many(count, **columns)
    rows = house.call(verbs.dispatch(columns.get("queue", "default"), "redis", count, 60))
    return [row[0] for row in rows], [row[1] for row in rows]


def take(house, runner, jobs, numbers):
    return [Claimed(*row) for row in house.call(verbs.take(runner, jobs, numbers))]


def test_a_taken_job_runs_and_is_finished_like_any_other(house):
    runner = house.runner()
    jobs, numbers = sent(house, 2, payload={"n": 1})
    taken = take(house, runner, jobs, numbers)
    assert [job.id for job in taken] == jobs
    assert [(job.claim_no, job.payload) for job in taken] == [(1, {"n": 1})] * 2
    assert house.state(jobs[0]) == "running"
    assert house.finish(runner, *taken) == {}


def test_a_second_message_takes_nothing(house):
    jobs, numbers = sent(house)
    assert len(take(house, house.runner(), jobs, numbers)) == 1
    assert take(house, house.runner(), jobs, numbers) == []


def test_a_stale_message_takes_nothing(house):
    jobs, numbers = sent(house)
    house.pass_time(61)
    house.call(verbs.reap(10))
    again = house.call(verbs.dispatch("default", "redis", 1, 60))
    assert take(house, house.runner(), jobs, numbers) == []
    assert len(take(house, house.runner(), jobs, [again[0][1]])) == 1


def test_a_cancelled_job_is_not_taken(house):
    jobs, numbers = sent(house)
    house.call(verbs.cancel(jobs, "ann"))
    assert take(house, house.runner(), jobs, numbers) == []


def test_jobs_of_two_queues_make_two_bundles(house):
    a, b = sent(house, queue="a"), sent(house, queue="b")
    runner = house.runner()
    taken = take(house, runner, a[0] + b[0], a[1] + b[1])
    assert len({job.bundle for job in taken}) == 2
    assert house.finish(runner, *taken) == {}


def test_a_reaped_runner_takes_nothing(house):
    runner = house.runner()
    jobs, numbers = sent(house)
    house.call(verbs.reap(10, runner, []))
    with pytest.raises(RunnerDead):
        take(house, runner, jobs, numbers)
    assert house.state(jobs[0]) == "dispatched"


def test_a_role_bound_to_its_queues_takes_of_no_other(house):
    jobs, numbers = sent(house)
    house.do("insert into leasehold.role_queue (role, queue) values (session_user, 'mine')")
    with pytest.raises(AccessRefused, match="may not work on all of the queues"):
        take(house, house.runner(), jobs, numbers)
