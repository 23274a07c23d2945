"""cancel: waiting, ready, scheduled, dispatched → ended; for a running job a wish that travels."""

from datetime import timedelta
from uuid import uuid4

import pytest

from leasehold.store import verbs


def cancel(house, *jobs, by=None, **said):
    return dict(house.call(verbs.cancel(list(jobs), "ann", **said), by))


def put(house, room):
    """A job in this room."""
    if room == "scheduled":
        return house.enqueue(delay=timedelta(hours=1))
    if room == "waiting":
        return house.enqueue(hold="x")
    job = house.enqueue()
    if room == "dispatched":
        house.call(verbs.dispatch("default", "redis", 1, 60))
    if room == "ready again":
        runner = house.runner()
        house.release(runner, *house.claim(runner))
    return job


ROOMS = ["ready", "ready again", "scheduled", "waiting", "dispatched"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_job_that_waits_ends_at_once(house, room):
    job = put(house, room)
    assert cancel(house, job, reason="wrong") == {job: "cancelled"}
    assert (house.state(job), house.rooms(job)) == ("cancelled", set())
    line = house.attempt(job)
    assert (line["error"]["message"], line["claimed_at"]) == ("wrong", None)


@pytest.mark.parametrize("room", ROOMS)
def test_a_second_cancel_finds_it_ended(house, room):
    job = put(house, room)
    cancel(house, job)
    assert cancel(house, job) == {job: "ended"}
    assert house.history(job) == ["cancelled"]


def test_a_running_job_gets_a_wish_and_its_runner_hears_of_it(house):
    runner = house.runner()
    job = house.running(runner)
    assert cancel(house, job.id, reason="wrong") == {job.id: "requested"}
    assert house.state(job.id) == "running"
    assert house.beat(runner, [job.bundle])["cancel"] == [[runner, str(job.id), 1, "wrong"]]


def test_a_second_wish_changes_nothing(house):
    job = house.running(house.runner())
    for _ in range(2):
        assert cancel(house, job.id) == {job.id: "requested"}
    assert house.count("cancel_request") == 1


def test_one_that_has_ended_and_one_that_never_was(house):
    runner, nobody = house.runner(), uuid4()
    job = house.running(runner)
    house.finish(runner, job)
    assert cancel(house, job.id, nobody) == {job.id: "ended", nobody: "not_found"}


def test_many_at_once_each_with_its_answer(house):
    runner = house.runner()
    running = house.running(runner).id
    jobs = [put(house, room) for room in ROOMS]
    expected = dict.fromkeys(jobs, "cancelled") | {running: "requested"}
    house.rows("select 1")
    assert cancel(house, running, *jobs, *jobs) == expected


def test_a_twin_is_nobody(house):
    house.enqueue(key="k")
    twin = house.enqueue(key="k")
    assert cancel(house, twin) == {twin: "not_found"}


def test_its_key_is_free_again(house):
    cancel(house, house.enqueue(key="k"))
    assert house.rooms(house.enqueue(key="k")) == {"ready"}


def test_it_is_written_down_who_did_it(house):
    job = house.enqueue()
    cancel(house, job, reason="wrong")
    assert house.rows("select actor, verb, note, job_ids from leasehold.audit") == [
        ("ann", "cancel", "wrong", [job])
    ]


def test_a_claim_that_is_just_taking_the_job_is_waited_for(house):
    runner, other = house.runner(), house.connect()
    job = house.enqueue()
    with other.transaction():
        house.claim(runner, by=other)
        wish = house.aside(lambda c: cancel(house, job, by=c))
        wish.blocked()
    assert wish.result() == {job: "requested"}
    assert len(house.beat(runner, [1])["cancel"]) == 1


def test_a_finish_that_is_just_ending_the_job_is_waited_for(house):
    runner, other = house.runner(), house.connect()
    job = house.running(runner)
    with other.transaction():
        house.finish(runner, job, by=other)
        wish = house.aside(lambda c: cancel(house, job.id, by=c))
        wish.blocked()
    assert wish.result() == {job.id: "ended"}


def test_a_retry_that_is_just_going_on_is_waited_for_and_cancelled(house):
    runner, other = house.runner(), house.connect()
    job = house.running(runner)
    with other.transaction():
        house.finish(runner, job, outcome="retried", by=other)
        wish = house.aside(lambda c: cancel(house, job.id, by=c))
        wish.blocked()
    assert wish.result() == {job.id: "cancelled"}


def test_two_cancels_at_once_end_it_once(house):
    job, other = house.enqueue(), house.connect()
    with other.transaction():
        cancel(house, job, by=other)
        second = house.aside(lambda c: cancel(house, job, by=c))
        second.blocked()
    assert second.result() == {job: "ended"}
