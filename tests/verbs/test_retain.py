"""retain: what has had its time goes, in bounded batches."""

from leasehold.maintain.retire import retire
from leasehold.store import verbs

DAY = 86400


def retain(house, limit=100):
    return house.call(verbs.retain(limit))


def test_dead_letters_go_after_their_time_and_no_sooner(house):
    job = house.dead()
    house.pass_time(89 * DAY)
    retain(house)
    assert house.rooms(job) == {"dead"}
    house.pass_time(2 * DAY)
    assert retain(house) == 1
    assert house.rooms(job) == set()


def test_no_more_than_the_limit_the_oldest_first(house):
    jobs = [house.dead() for _ in range(3)]
    house.pass_time(91 * DAY)
    assert retain(house, 2) == 2
    assert [house.rooms(job) for job in jobs] == [set(), set(), {"dead"}]


def kept(house, job):
    """As retirement would leave it: the job and its history among the kept."""
    house.do("insert into leasehold.job_kept select * from leasehold.job where id = %s", job)
    sql = "insert into leasehold.attempt_kept select * from leasehold.attempt where job_id = %s"
    house.do(sql, job)
    house.do("delete from leasehold.job where id = %s", job)
    house.do("delete from leasehold.attempt where job_id = %s", job)
    house.do("update leasehold.house set floor = leasehold.id_floor(leasehold.now())")


def test_kept_jobs_that_ended_go_and_live_ones_stay(house):
    runner = house.runner()
    ended = house.running(runner)
    house.finish(runner, ended)
    live = house.enqueue()
    house.pass_time(1)
    kept(house, ended.id)
    kept(house, live)
    house.pass_time(30 * DAY)
    assert retain(house) == 1
    assert house.rows("select id from leasehold.job_kept") == [(live,)]
    assert house.count("attempt_kept") == 0
    assert house.claim(house.runner())[0].id == live


def test_a_kept_job_that_ended_a_moment_ago_stays(house):
    runner = house.runner()
    job = house.running(runner)
    house.pass_time(30 * DAY)
    kept(house, job.id)
    house.finish(runner, job)
    assert house.state(job.id) == "succeeded"
    assert retain(house) == 0


def test_wishes_for_jobs_that_nobody_holds_go(house):
    runner = house.runner()
    held, left = house.running(runner), house.running(runner)
    house.call(verbs.cancel([held.id, left.id], "ann"))
    house.finish(runner, left)
    house.pass_time(61)
    retain(house)
    assert house.rows("select job_id from leasehold.cancel_request") == [(held.id,)]


def test_checkpoints_of_live_jobs_stay(house):
    runner = house.runner()
    ended, live = house.running(runner), house.running(runner)
    for job in (ended, live):
        house.call(verbs.save(runner, [{"bundle": job.bundle, "job": str(job.id), "progress": 1}]))
    house.finish(runner, ended)
    house.finish(runner, live, outcome="retried", delay=99 * DAY)
    house.pass_time(8 * DAY)
    retain(house)
    assert house.rows("select job_id from leasehold.checkpoint") == [(live.id,)]


def test_a_live_job_keeps_its_key_however_old_it_is(house):
    job = house.enqueue(key="k", hold="x")
    runner = house.runner()
    house.finish(runner, house.running(runner, key="gone"))
    house.pass_time(8 * DAY)
    retain(house)
    assert house.rows("select job_id from leasehold.job_key") == [(job,)]


def test_runners_long_dead_go_and_others_stay(house):
    dead, alive = house.runner(), house.runner()
    house.call(verbs.reap(10, dead, []))
    house.pass_time(2 * DAY)
    retain(house)
    assert house.rows("select id from leasehold.runner") == [(alive,)]


def test_a_second_call_finds_nothing(house):
    house.dead()
    house.pass_time(91 * DAY)
    retain(house)
    assert retain(house) == 0


def test_a_kept_job_that_is_opened_again_meanwhile_stays(house):
    job = house.enqueue()
    house.pass_time(9 * DAY)
    retire(house.connection)
    runner, other = house.runner(), house.connect()
    house.finish(runner, *house.claim(runner))
    house.pass_time(9 * DAY)
    with other.transaction():
        house.call(verbs.retry([job], "ann"), other)
        house.call(verbs.retain(100))
    house.call(verbs.retain(100))
    assert [one.id for one in house.claim(house.runner())] == [job]
