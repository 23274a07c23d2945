"""hold: ready, scheduled → waiting, until a person resumes it."""

from datetime import timedelta
from uuid import uuid4

from leasehold.store import verbs


def hold(house, *jobs, by=None):
    return dict(house.call(verbs.hold(list(jobs), "ann", "look first"), by))


def test_a_held_job_is_not_claimed(house):
    job = house.enqueue()
    assert hold(house, job) == {job: "held"}
    assert (house.state(job), house.claim(house.runner())) == ("waiting", [])
    assert house.entry("waiting", job)["note"] == "look first"


def test_a_scheduled_one_is_not_promoted(house):
    job = house.enqueue(delay=timedelta(seconds=5))
    assert hold(house, job) == {job: "held"}
    house.pass_time(10)
    assert house.call(verbs.promote(10))[0] == 0


def test_a_job_that_came_back_is_held_too(house):
    runner = house.runner()
    job = house.running(runner)
    house.release(runner, job)
    assert hold(house, job.id) == {job.id: "held"}


def test_others_answer_with_their_state(house):
    runner, nobody = house.runner(), uuid4()
    running = house.running(runner).id
    ended = house.running(runner)
    house.finish(runner, ended)
    found = hold(house, running, ended.id, nobody)
    assert found == {running: "running", ended.id: "succeeded", nobody: "not_found"}


def test_a_second_hold_finds_it_waiting(house):
    job = house.enqueue()
    hold(house, job)
    assert hold(house, job) == {job: "waiting"}


def test_a_claim_that_is_just_taking_the_job_goes_first(house):
    job, other = house.enqueue(), house.connect()
    with other.transaction():
        house.claim(house.runner(), by=other)
        held = house.aside(lambda c: hold(house, job, by=c))
        held.blocked()
    assert held.result() == {job: "running"}


def test_its_deadline_still_counts(house):
    job = house.enqueue(deadline=house.value("select leasehold.now() + interval '5 seconds'"))
    hold(house, job)
    house.pass_time(6)
    assert house.call(verbs.expire(10)) == 1
