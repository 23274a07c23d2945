"""expire: waiting, ready, scheduled, dispatched → ended, for jobs past their deadline."""

from datetime import timedelta

from leasehold.store import verbs


def soon(house):
    return house.value("select leasehold.now() + interval '10 seconds'")


def test_a_job_expires_in_every_room_where_it_waits(house):
    deadline = soon(house)
    sent = house.enqueue(deadline=deadline, queue="sent")
    house.call(verbs.dispatch("sent", "redis", 1, 999))
    jobs = [
        sent,
        house.enqueue(deadline=deadline),
        house.enqueue(deadline=deadline, delay=timedelta(hours=1)),
        house.enqueue(deadline=deadline, hold="x"),
    ]
    assert house.call(verbs.expire(10)) == 0
    house.pass_time(11)
    assert house.call(verbs.expire(10)) == 4
    assert {house.state(job) for job in jobs} == {"expired"}
    assert all(house.history(job) == ["expired"] for job in jobs)
    assert house.call(verbs.expire(10)) == 0


def test_a_job_that_runs_is_let_finish(house):
    runner = house.runner()
    job = house.running(runner, deadline=soon(house))
    house.pass_time(11)
    assert house.call(verbs.expire(10)) == 0
    assert house.finish(runner, job) == {}


def test_a_retry_past_the_deadline_expires(house):
    runner = house.runner()
    job = house.running(runner, deadline=soon(house))
    house.finish(runner, job, outcome="retried", delay=60)
    house.pass_time(11)
    assert house.call(verbs.expire(10)) == 1
    assert house.history(job.id) == ["retried", "expired"]


def test_it_ends_no_more_than_its_limit_of_each_room(house):
    house.enqueue_many(5, deadline=soon(house))
    house.pass_time(11)
    assert [house.call(verbs.expire(2)) for _ in range(4)] == [2, 2, 1, 0]


def test_a_key_is_free_again(house):
    house.enqueue(key="k", deadline=soon(house))
    house.pass_time(11)
    house.call(verbs.expire(10))
    assert house.rooms(house.enqueue(key="k")) == {"ready"}


def test_whoever_awaits_it_hears(house):
    job = house.enqueue(deadline=soon(house))
    house.call(verbs.watch([job], "ends"))
    house.pass_time(11)
    house.call(verbs.expire(10))
    assert house.count("awaited") == 0


def test_a_claim_in_progress_is_stepped_around(house):
    job = house.enqueue(deadline=soon(house))
    house.pass_time(11)
    other, runner = house.connect(), house.runner()
    with other.transaction():
        (claimed,) = house.claim(runner, by=other)
        assert house.call(verbs.expire(10)) == 0
    assert house.finish(runner, claimed) == {}
    assert house.state(job) == "succeeded"
