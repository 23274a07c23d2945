"""save: what a job keeps between attempts."""

from leasehold.store import verbs


def save(house, runner, job, **said):
    return house.call(verbs.save(runner, [{"bundle": job.bundle, "job": str(job.id), **said}]))


def kept(house, job):
    sql = "select progress, note, data from leasehold.checkpoint where job_id = %s"
    return house.rows(sql, job.id)


def test_progress_note_and_data_are_kept(house):
    runner = house.runner()
    job = house.running(runner)
    assert save(house, runner, job, progress=50, note="half", data={"at": 1}) == {job.id}
    assert kept(house, job) == [(50, "half", {"at": 1})]


def test_what_is_left_out_stays_as_it_was(house):
    runner = house.runner()
    job = house.running(runner)
    save(house, runner, job, progress=50, data={"at": 1})
    save(house, runner, job, note="on")
    assert kept(house, job) == [(50, "on", {"at": 1})]


def test_it_outlives_a_retry(house):
    runner = house.runner()
    job = house.running(runner)
    save(house, runner, job, data={"at": 1})
    house.finish(runner, job, outcome="retried")
    assert kept(house, job)[0][2] == {"at": 1}


def test_nobody_writes_about_a_job_of_another(house):
    job = house.running(house.runner())
    assert save(house, house.runner(), job, progress=1) == set()
    assert kept(house, job) == []


def test_who_lost_the_job_writes_no_more(house):
    late = house.runner()
    job = house.running(late)
    house.call(verbs.reap(10, late, [job.id]))
    assert save(house, late, job, progress=1) == set()


def test_who_has_finished_the_job_writes_no_more(house):
    house.enqueue_many(2)
    runner = house.runner()
    done, other = house.claim(runner, 2)
    house.finish(runner, done)
    assert save(house, runner, done, progress=1) == set()
    assert save(house, runner, other, progress=1) == {other.id}


def test_who_gave_the_job_back_writes_no_more(house):
    """It may be somebody else's by now, while the rest of the bundle is still here."""
    house.enqueue_many(2)
    runner = house.runner()
    job, _ = house.claim(runner, 2)
    house.finish(runner, job, outcome="retried")
    house.claim(house.runner())
    assert save(house, runner, job, progress=1) == set()


def test_a_dead_runner_writes_no_more_before_its_jobs_have_moved_either(house):
    runner = house.runner()
    job = house.running(runner)
    house.do("update leasehold.runner set dead_at = leasehold.now() where id = %s", runner)
    assert save(house, runner, job, progress=1) == set()


def test_many_at_once_those_that_are_held_are_answered(house):
    house.enqueue_many(2)
    runner = house.runner()
    jobs = house.claim(runner, 2)
    said = [{"bundle": job.bundle, "job": str(job.id), "progress": 9} for job in jobs]
    said.append({"bundle": 999, "job": str(house.enqueue()), "progress": 9})
    assert house.call(verbs.save(runner, said)) == {job.id for job in jobs}
