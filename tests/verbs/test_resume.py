"""resume: waiting → ready or scheduled, for jobs a person held."""

from datetime import timedelta
from uuid import uuid4

from leasehold.store import verbs


def resume(house, *jobs, by=None):
    return dict(house.call(verbs.resume(list(jobs), "ann"), by))


def test_a_resumed_job_may_run(house):
    job = house.enqueue(hold="x")
    assert resume(house, job) == {job: "resumed"}
    assert house.claim(house.runner())[0].id == job


def test_one_that_is_not_due_yet_is_scheduled_again(house):
    job = house.enqueue(delay=timedelta(hours=1))
    house.call(verbs.hold([job], "ann"))
    assert resume(house, job) == {job: "resumed"}
    assert house.state(job) == "scheduled"


def test_one_whose_time_came_meanwhile_may_run_at_once(house):
    job = house.enqueue(delay=timedelta(hours=1))
    house.call(verbs.hold([job], "ann"))
    house.pass_time(4000)
    assert resume(house, job) == {job: "resumed"}
    assert house.state(job) == "ready"


def test_it_goes_behind_those_that_waited_in_line(house):
    held = house.enqueue()
    house.call(verbs.hold([held], "ann"))
    other = house.enqueue()
    resume(house, held)
    assert house.ready() == [other, held]


def test_others_answer_with_their_state(house):
    job, nobody = house.enqueue(), uuid4()
    assert resume(house, job, nobody) == {job: "ready", nobody: "not_found"}


def test_what_waits_for_other_jobs_is_not_resumed(house):
    job = house.enqueue(hold="x")
    house.do("update leasehold.waiting set reason = 'parents', remaining = 1")
    assert resume(house, job) == {job: "waiting"}


def test_two_who_resume_at_once_make_it_ready_once(house):
    job, other = house.enqueue(hold="x"), house.connect()
    with other.transaction():
        resume(house, job, by=other)
        second = house.aside(lambda c: resume(house, job, by=c))
        second.blocked()
    assert second.result() == {job: "ready"}
    assert house.ready() == [job]


def test_counters_travel_with_it(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job, outcome="retried")
    house.call(verbs.hold([job.id], "ann"))
    resume(house, job.id)
    again = house.claim(runner)[0]
    assert (again.claim_no, again.attempts) == (2, 1)
