"""dispatch: ready → dispatched."""

import pytest

from leasehold.errors import AccessRefused
from leasehold.store import verbs


def dispatch(house, limit=10, queue="default"):
    return house.call(verbs.dispatch(queue, "redis", limit, 60))


def test_a_dispatched_job_waits_for_whoever_takes_it(house):
    job = house.enqueue(task="mail")
    sent = dispatch(house)
    assert [(row[0], row[2]) for row in sent] == [(job, "mail")]
    assert house.state(job) == "dispatched"
    assert house.claim(house.runner()) == []


def test_first_come_first_sent_and_no_more_than_the_limit(house):
    jobs = house.enqueue_many(3)
    urgent = house.enqueue(priority=1)
    assert [row[0] for row in dispatch(house, 2)] == [urgent, jobs[0]]
    assert [row[0] for row in dispatch(house, 9)] == jobs[1:]


def test_dispatch_numbers_only_grow(house):
    house.enqueue_many(3)
    numbers = [row[1] for row in dispatch(house)]
    assert numbers == sorted(set(numbers))


def test_other_queues_stay(house):
    job = house.enqueue(queue="other")
    assert dispatch(house) == []
    assert house.state(job) == "ready"


def test_order_holds_across_segments(house):
    jobs = house.enqueue_many(2)
    house.call(verbs.rotate(0))
    jobs += house.enqueue_many(2)
    assert [row[0] for row in dispatch(house)] == jobs


def test_two_dispatchers_send_nothing_twice(house):
    jobs = house.enqueue_many(4)
    other = house.connect()
    with other.transaction():
        first = house.call(verbs.dispatch("default", "redis", 2, 60), other)
        second = dispatch(house)
    assert [row[0] for row in first + second] == jobs


def test_a_role_bound_to_its_queues_sends_from_no_other(house):
    job = house.enqueue()
    house.do("insert into leasehold.role_queue (role, queue) values (session_user, 'mine')")
    with pytest.raises(AccessRefused, match="may not work on all of the queues"):
        dispatch(house)
    assert house.state(job) == "ready"
