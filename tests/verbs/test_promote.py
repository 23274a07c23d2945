"""promote: scheduled → ready, for jobs whose time has come."""

from datetime import timedelta

import pytest

from leasehold.store import verbs


def promote(house, limit=100):
    return house.call(verbs.promote(limit))


def test_a_due_job_is_ready_and_one_that_is_not_stays(house):
    soon, late = (house.enqueue(delay=timedelta(seconds=s)) for s in (10, 1000))
    assert promote(house)[0] == 0
    house.pass_time(11)
    assert promote(house)[0] == 1
    assert (house.state(soon), house.state(late)) == ("ready", "scheduled")


def test_it_answers_in_how_many_seconds_the_next_is_due(house):
    house.clock.freeze()
    assert promote(house) == (0, None)
    house.enqueue(delay=timedelta(seconds=30))
    assert promote(house) == (0, pytest.approx(30))
    house.pass_time(29)
    assert promote(house) == (0, pytest.approx(1))


def test_it_moves_no_more_than_its_limit_the_longest_due_first(house):
    jobs = [house.enqueue(delay=timedelta(seconds=s)) for s in (30, 20, 10)]
    house.pass_time(60)
    assert promote(house, 2)[0] == 2
    assert [house.state(job) for job in jobs] == ["scheduled", "ready", "ready"]
    assert promote(house, 2)[0] == 1


def test_a_backlog_beyond_the_limit_is_due_at_once(house):
    for _ in range(2):
        house.enqueue(delay=timedelta(seconds=1))
    house.pass_time(5)
    assert promote(house, 1)[1] < 0


def test_its_turn_is_the_time_it_became_ready(house):
    later = house.enqueue(delay=timedelta(seconds=1))
    house.pass_time(60)
    waited = house.enqueue()
    promote(house)
    assert house.ready() == [waited, later]


def test_counters_travel_with_it(house):
    runner = house.runner()
    job = house.running(runner, priority=3, payload={"n": 1})
    house.finish(runner, job, outcome="retried", delay=5)
    house.pass_time(6)
    promote(house)
    again = house.claim(runner)[0]
    assert (again.id, again.claim_no, again.attempts) == (job.id, 2, 1)
    assert (again.priority, again.payload) == (3, {"n": 1})


def test_two_leaders_for_a_moment_do_no_harm(house):
    jobs = [house.enqueue(delay=timedelta(seconds=1)) for _ in range(4)]
    house.pass_time(5)
    other = house.connect()
    with other.transaction():
        assert house.call(verbs.promote(2), other)[0] == 2
        assert promote(house)[0] == 2
    assert sorted(house.ready()) == sorted(jobs)


def test_idle_runners_are_woken(house):
    house.enqueue(delay=timedelta(seconds=1))
    house.call(verbs.sleep(house.runner(), ["default"]))
    house.pass_time(5)
    promote(house)
    assert house.count("sleeper") == 0
