"""watch: somebody listens on a channel for the end of jobs."""

from leasehold.store import verbs


def heard(listener):
    return [
        (notice.channel, notice.payload) for notice in listener.notifies(timeout=5, stop_after=1)
    ]


def test_the_end_of_a_job_is_heard(house):
    listener = house.connect()
    listener.execute("listen ends")
    runner = house.runner()
    job = house.running(runner)
    assert house.call(verbs.watch([job.id], "ends")) == set()
    house.finish(runner, job)
    assert heard(listener) == [("ends", str(job.id))]


def test_failing_and_cancelling_are_ends_too(house):
    listener = house.connect()
    listener.execute("listen ends")
    runner = house.runner()
    failed, cancelled = house.running(runner), house.enqueue()
    house.call(verbs.watch([failed.id, cancelled], "ends"))
    house.finish(runner, failed, outcome="failed")
    assert heard(listener) == [("ends", str(failed.id))]
    house.call(verbs.cancel([cancelled], "ann"))
    assert heard(listener) == [("ends", str(cancelled))]


def test_a_retry_is_no_end(house):
    runner = house.runner()
    job = house.running(runner)
    house.call(verbs.watch([job.id], "ends"))
    house.finish(runner, job, outcome="retried")
    assert house.count("awaited") == 1


def test_what_has_ended_already_is_answered_at_once(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job)
    other = house.enqueue()
    assert house.call(verbs.watch([job.id, other], "ends")) == {job.id}


def test_everyone_who_waits_is_told_and_forgotten(house):
    runner = house.runner()
    job = house.running(runner)
    for channel in ("a", "b", "b"):
        house.call(verbs.watch([job.id, job.id], channel))
    assert house.count("awaited") == 2
    house.finish(runner, job)
    assert house.count("awaited") == 0


def test_an_end_that_rolls_back_is_not_told(house):
    runner, other = house.runner(), house.connect()
    job = house.running(runner)
    house.call(verbs.watch([job.id], "ends"))
    with other.transaction(force_rollback=True):
        house.finish(runner, job, by=other)
    assert house.count("awaited") == 1
