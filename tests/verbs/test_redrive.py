"""redrive: dead → ready for many jobs, chosen by what they have in common."""

import pytest

from leasehold.store import verbs


def redrive(house, limit=100, by=None, **chosen):
    return dict(house.call(verbs.redrive(chosen, limit, "ann"), by))


@pytest.mark.parametrize(
    ("chosen", "other"),
    [
        ({"queue": "q"}, {"queue": "z"}),
        ({"task": "a"}, {"task": "b"}),
        ({"tenant": "a"}, {"tenant": "b"}),
        ({"tenant": "a"}, {}),
    ],
)
def test_only_what_was_chosen(house, chosen, other):
    job, stays = house.dead(**chosen), house.dead(**other)
    assert redrive(house, **chosen) == {job: "retried"}
    assert (house.state(job), house.state(stays)) == ("ready", "failed")


def test_by_error_class_and_reason(house):
    job = house.dead()
    assert redrive(house, error="Other") == redrive(house, reason="poison") == {}
    assert redrive(house, error="Boom", reason="failed") == {job: "retried"}


def test_by_time_of_death(house):
    early = house.dead()
    house.pass_time(3600)
    noon = str(house.value("select leasehold.now()"))
    house.pass_time(3600)
    late = house.dead()
    assert redrive(house, since=noon) == {late: "retried"}
    assert redrive(house, until=noon) == {early: "retried"}


def test_all_of_them(house):
    jobs = [house.dead() for _ in range(3)]
    assert redrive(house) == dict.fromkeys(jobs, "retried")
    assert redrive(house) == {}


def test_the_oldest_first_and_no_more_than_the_limit(house):
    jobs = [house.dead() for _ in range(3)]
    assert set(redrive(house, 2)) == set(jobs[:2])


def test_two_at_once_share_them(house):
    jobs = [house.dead() for _ in range(4)]
    other = house.connect()
    with other.transaction():
        assert set(redrive(house, 2, by=other)) == set(jobs[:2])
        assert set(redrive(house, 9)) == set(jobs[2:])


def test_to_another_queue(house):
    job = house.dead()
    house.call(verbs.redrive({}, 9, "ann", queue="slow"))
    assert house.ready("slow") == [job]


def test_one_whose_key_is_taken_stays(house):
    job = house.dead(key="k")
    house.enqueue(key="k")
    assert redrive(house) == {job: "key_taken"}
