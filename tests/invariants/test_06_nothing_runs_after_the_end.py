"""6. A job ends succeeded, failed (and is in dead), cancelled or expired; nothing runs after."""

from datetime import timedelta

import pytest

from leasehold.store import verbs


def succeed(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job)
    return job.id


def cancel(house):
    job = house.enqueue(delay=timedelta(seconds=5))
    house.call(verbs.cancel([job], "ann"))
    return job


def expire(house):
    job = house.enqueue(deadline=house.value("select leasehold.now() + interval '1 second'"))
    house.pass_time(2)
    house.call(verbs.expire(9))
    return job


ENDS = {
    "succeeded": succeed,
    "failed": lambda house: house.dead(),
    "cancelled": cancel,
    "expired": expire,
}


@pytest.mark.parametrize("end", ENDS)
def test_no_verb_that_time_moves_brings_it_back(house, end):
    job = ENDS[end](house)
    leader = house.leader()
    house.pass_time(86400)
    house.call(verbs.lead(leader))
    moves = (verbs.promote(9), verbs.unblock(9), verbs.reap(9), verbs.expire(9))
    assert [house.call(move) for move in moves] == [(0, None), 0, 0, 0]
    assert house.claim(house.runner()) == []
    assert (house.state(job), house.rooms(job) - {"dead"}) == (end, set())


@pytest.mark.parametrize("end", ENDS)
def test_it_is_in_dead_only_if_it_failed(house, end):
    assert house.rooms(ENDS[end](house)) == ({"dead"} if end == "failed" else set())


@pytest.mark.parametrize("end", ENDS)
def test_a_person_may_begin_it_anew_by_name(house, end):
    job = ENDS[end](house)
    assert dict(house.call(verbs.retry([job], "ann"))) == {job: "retried"}
    assert house.claim(house.runner())[0].id == job
