"""unblock: waiting → ready or scheduled, for jobs whose last parent has ended."""

from datetime import timedelta

from leasehold.store import verbs


def waiting(house, remaining, **columns):
    """A job that waits for so many others."""
    job = house.enqueue(hold="x", **columns)
    sql = "update leasehold.waiting set reason = 'parents', remaining = %s where job_id = %s"
    house.do(sql, remaining, job)
    return job


def test_a_job_without_a_parent_left_may_run(house):
    free, bound = waiting(house, 0), waiting(house, 1)
    assert house.call(verbs.unblock(10)) == 1
    assert (house.state(free), house.state(bound)) == ("ready", "waiting")


def test_one_that_is_not_due_yet_is_scheduled(house):
    job = waiting(house, 0, delay=timedelta(hours=1))
    assert house.call(verbs.unblock(10)) == 1
    assert house.state(job) == "scheduled"


def test_held_by_a_person_stays(house):
    job = house.enqueue(hold="x")
    assert house.call(verbs.unblock(10)) == 0
    assert house.state(job) == "waiting"


def test_it_moves_no_more_than_its_limit(house):
    for _ in range(3):
        waiting(house, 0)
    assert [house.call(verbs.unblock(2)) for _ in range(3)] == [2, 1, 0]
