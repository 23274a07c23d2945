"""retire: the oldest day past its keep is left by what still lives."""

from leasehold.maintain.retire import retire
from leasehold.store import verbs

DAY = 86_400


def days(house):
    sql = "select count(*) from pg_inherits where inhparent = 'leasehold.job'::regclass"
    return house.value(sql)


def test_a_day_within_its_keep_is_not_retired(house):
    house.enqueue()
    house.pass_time(6 * DAY)
    assert house.call(verbs.retire()) is None


def test_ended_jobs_leave_with_their_day_and_their_history(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job)
    house.pass_time(9 * DAY)
    before = days(house)
    assert retire(house.connection) > 0
    assert days(house) < before
    assert (house.count("job_body"), house.count("attempt_all")) == (0, 0)


def test_live_jobs_outlast_their_day_and_can_be_claimed_finished_and_retried(house):
    waits, sleeps = house.enqueue(payload={"n": 1}), house.enqueue(delay="30 days")
    failed = house.dead(queue="other")
    house.pass_time(9 * DAY)
    retire(house.connection)
    runner = house.runner()
    [claimed] = house.claim(runner)
    assert (claimed.id, claimed.payload) == (waits, {"n": 1})
    assert house.finish(runner, claimed) == {}
    assert (house.state(waits), house.state(sleeps)) == ("succeeded", "scheduled")
    assert dict(house.call(verbs.retry([failed], "ann"))) == {failed: "retried"}


def test_a_job_that_runs_while_its_day_is_retired_keeps_its_holder(house):
    runner = house.runner()
    job = house.running(runner)
    house.pass_time(9 * DAY)
    retire(house.connection)
    assert house.state(job.id) == "running"
    assert house.finish(runner, job) == {}
    assert house.history(job.id) == ["succeeded"]


def test_it_can_be_stopped_after_each_step_and_gone_on_with(house):
    live = house.enqueue()
    house.pass_time(9 * DAY)
    first = house.call(verbs.retire())
    assert house.call(verbs.retire()) == first  # nobody detached it meanwhile
    retire(house.connection)
    assert house.state(live) == "ready"


def test_a_reader_in_the_way_is_not_waited_for_and_nothing_is_lost(house):
    live = house.enqueue()
    house.pass_time(9 * DAY)
    reader = house.connect()
    with reader.transaction():
        reader.execute("select count(*) from leasehold.job")
        assert retire(house.connection) == 0
        assert house.state(live) == "ready"
    retire(house.connection)
    assert house.state(live) == "ready"


def test_kept_jobs_go_when_they_have_ended_and_had_their_time(house):
    job = house.enqueue()
    house.pass_time(9 * DAY)
    retire(house.connection)
    runner = house.runner()
    house.finish(runner, *house.claim(runner))
    house.pass_time(9 * DAY)
    house.call(verbs.retain(100))
    assert (house.state(job), house.count("job_kept"), house.count("attempt_kept")) == (None, 0, 0)


def test_a_day_is_not_retired_while_somebody_opens_one_of_its_jobs_again(house):
    failed = house.dead()
    house.call(verbs.discard([failed], "ann"))
    house.pass_time(9 * DAY)
    other = house.connect()
    with other.transaction():
        assert dict(house.call(verbs.retry([failed], "ann"), other)) == {failed: "retried"}
        assert retire(house.connection) == 0
    assert retire(house.connection) > 0
    assert [job.id for job in house.claim(house.runner())] == [failed]


def test_a_keep_of_nothing_still_spares_the_day_in_which_ids_are_made(house):
    house.do("update leasehold.house set keep = '0'")
    assert house.call(verbs.retire()) is None
