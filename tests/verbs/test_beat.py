"""beat: keeps the leases of all runners of a worker, and reconciles what they know."""

from uuid import uuid4

from leasehold.store import verbs


def expires_in(house, runner):
    sql = "select extract(epoch from expires_at - leasehold.now()) from leasehold.runner"
    return round(house.value(f"{sql} where id = %s", runner))


def test_one_beat_keeps_all_leases_of_the_worker(house):
    worker = house.worker()
    runners = [house.runner(worker) for _ in range(2)]
    house.pass_time(20)
    news = house.call(verbs.beat(worker, [{"id": runner, "bundles": []} for runner in runners]))
    assert (news["dead"], news["gone"], news["cancel"]) == ([], [], [])
    assert [expires_in(house, runner) for runner in runners] == [30, 30]


def test_a_runner_it_does_not_name_is_not_kept(house):
    worker = house.worker()
    named, other = house.runner(worker), house.runner(worker)
    house.pass_time(20)
    house.beat(named)
    assert expires_in(house, other) == 10


def test_another_workers_runner_is_not_kept(house):
    runner, stranger = house.runner(), house.worker()
    house.pass_time(20)
    news = house.call(verbs.beat(stranger, [{"id": runner}]))
    assert news["dead"] == [runner]
    assert expires_in(house, runner) == 10


def test_a_dead_runner_is_told_and_not_revived(house):
    runner = house.runner()
    house.call(verbs.reap(10, runner, []))
    assert house.beat(runner)["dead"] == [runner]
    assert house.value("select dead_at is not null from leasehold.runner where id = %s", runner)


def test_bundles_that_are_no_more_are_told(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job)
    assert house.beat(runner, [job.bundle])["gone"] == [[runner, job.bundle]]


def test_a_claim_answered_to_nobody_goes_back_after_ten_seconds(house):
    runner = house.runner()
    job = house.running(runner)
    house.beat(runner, [])
    assert house.state(job.id) == "running"
    house.pass_time(11)
    house.beat(runner, [])
    assert (house.state(job.id), house.history(job.id)) == ("ready", [])


def test_a_bundle_it_knows_stays(house):
    runner = house.runner()
    job = house.running(runner)
    house.pass_time(11)
    assert house.beat(runner, [job.bundle])["gone"] == []
    assert house.finish(runner, job) == {}


def test_a_runner_that_cannot_say_what_it_holds_keeps_it(house):
    """Null: its loop is blocked, and may have claimed what it has not read yet."""
    runner = house.runner()
    job = house.running(runner)
    house.pass_time(11)
    house.call(verbs.beat(house.workers[runner], [{"id": runner, "bundles": None}]))
    assert house.state(job.id) == "running"
    house.beat(runner, [])
    assert (house.state(job.id), house.history(job.id)) == ("ready", [])


def test_members_of_a_stray_bundle_that_ended_stay_ended(house):
    house.enqueue_many(2)
    runner = house.runner()
    done, stray = house.claim(runner, 2)
    house.finish(runner, done)
    house.pass_time(11)
    house.beat(runner, [])
    assert (house.state(done.id), house.state(stray.id)) == ("succeeded", "ready")


def test_a_finish_in_progress_is_not_disturbed(house):
    runner, other = house.runner(), house.connect()
    job = house.running(runner)
    house.pass_time(11)
    with other.transaction():
        house.finish(runner, job, by=other)
        house.beat(runner, [])
    assert house.state(job.id) == "succeeded"


def test_it_remembers_what_was_begun_and_how_the_loop_does(house):
    house.enqueue_many(2)
    runner = house.runner()
    _, second = house.claim(runner, 2, begin=1)
    assert house.state(second.id) == "assigned"
    house.beat(runner, [second.bundle], begun=[str(second.id)], loop_age=1.5)
    assert house.state(second.id) == "running"
    assert house.value("select loop_age from leasehold.runner where id = %s", runner) == 1.5


def test_it_carries_the_tally(house):
    worker = house.worker()
    said = {"queue": "q", "task": "t", "outcome": "succeeded", "n": 3, "run_ms": 30, "wait_ms": 9}
    house.call(verbs.beat(worker, [], [said]))
    sql = "select queue, task, outcome, n, run_ms, wait_ms from leasehold.tally_delta"
    assert house.rows(sql) == [("q", "t", "succeeded", 3, 30, 9)]


def test_it_tells_how_long_ago_a_leader_ticked(house):
    runner, leader = house.runner(), house.worker()
    assert house.beat(runner)["leader_age"] > 1e8
    house.call(verbs.lead(leader))
    house.pass_time(7)
    assert 7 <= house.beat(runner)["leader_age"] < 8


def test_bundles_of_nobody_are_gone(house):
    runner = house.runner()
    assert house.beat(runner, [12345])["gone"] == [[runner, 12345]]


def test_a_wish_for_another_runners_job_is_not_told(house):
    job = house.running(house.runner())
    house.call(verbs.cancel([job.id, uuid4()], "ann"))
    assert house.beat(house.runner())["cancel"] == []


def test_a_reap_in_progress_wins(house):
    runner, other = house.runner(), house.connect()
    with other.transaction():
        house.call(verbs.reap(10, runner, []), other)
        beat = house.aside(
            lambda c: house.call(verbs.beat(house.workers[runner], [{"id": runner}]), c)
        )
        beat.blocked()
    assert beat.result()["dead"] == [runner]
