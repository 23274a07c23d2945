"""release: running → ready; nothing is charged."""

from leasehold.store import verbs


def test_a_released_job_keeps_its_turn_and_is_charged_nothing(house):
    runner = house.runner()
    job = house.running(runner)
    later = house.enqueue()
    assert house.release(runner, job) == {job.id}
    assert house.ready() == [job.id, later]
    again = house.claim(runner)[0]
    assert (again.turn, again.claim_no, again.attempts) == (job.turn, 2, 0)
    assert house.history(job.id) == []


def test_with_a_delay_it_is_scheduled(house):
    runner = house.runner()
    job = house.running(runner)
    assert house.release(runner, job, delay=30) == {job.id}
    assert house.state(job.id) == "scheduled"


def test_the_rest_of_the_bundle_stays(house):
    house.enqueue_many(3)
    runner = house.runner()
    a, b, c = house.claim(runner, 3, begin=2)
    assert house.release(runner, a, c) == {a.id, c.id}
    assert house.rows("select held, begun, job_ids from leasehold.running") == [(1, 1, [b.id])]
    assert house.finish(runner, b) == {}


def test_the_last_one_takes_the_bundle_with_it(house):
    runner = house.runner()
    house.release(runner, house.running(runner))
    assert house.count("running") == 0


def test_a_second_release_finds_nothing(house):
    runner = house.runner()
    job = house.running(runner)
    house.release(runner, job)
    assert house.release(runner, job) == set()
    assert house.ready() == [job.id]


def test_what_has_ended_is_not_released(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job)
    assert house.release(runner, job) == set()


def test_nobody_releases_for_another(house):
    job, stranger = house.running(house.runner()), house.runner()
    assert house.release(stranger, job) == set()
    assert house.state(job.id) == "running"


def test_a_dead_runner_releases_nothing(house):
    runner = house.runner()
    job = house.running(runner)
    house.do("update leasehold.runner set dead_at = leasehold.now() where id = %s", runner)
    assert house.release(runner, job) == set()


def test_a_cancelled_job_ends_instead(house):
    runner = house.runner()
    job = house.running(runner)
    house.call(verbs.cancel([job.id], "ann"))
    assert house.release(runner, job) == {job.id}
    assert house.state(job.id) == "cancelled"
