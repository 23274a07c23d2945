"""reap: running or dispatched, holder lost → ready, or dead when it happened too often."""

import pytest

from leasehold.store import verbs
from leasehold.store.refusal import RunnerDead


def test_a_runner_whose_lease_ran_out_loses_its_jobs(house):
    runner, leader = house.runner(), house.leader()
    runner = house.runner()
    job = house.running(runner)
    house.outlive_leases(leader)
    assert house.call(verbs.reap(100)) == 1
    assert (house.state(job.id), house.history(job.id)) == ("ready", ["interrupted"])
    again = house.claim(house.runner())[0]
    assert (again.claim_no, again.attempts, again.interrupted) == (2, 0, 1)


def test_a_runner_that_beats_keeps_its_jobs(house):
    leader = house.leader()
    runner = house.runner()
    job = house.running(runner)
    for _ in range(9):
        house.pass_time(8)
        house.beat(runner, [job.bundle])
        house.call(verbs.lead(leader))
        assert house.call(verbs.reap(100)) == 0
    assert house.finish(runner, job) == {}


def test_a_lease_of_less_than_its_length_is_not_over(house):
    leader = house.leader()
    house.running(house.runner())
    for _ in range(2):
        house.pass_time(14)
        house.call(verbs.lead(leader))
    assert house.call(verbs.reap(100)) == 0


def test_a_reaped_runner_is_dead_for_ever(house):
    leader = house.leader()
    runner = house.runner()
    house.outlive_leases(leader)
    house.call(verbs.reap(100))
    assert house.beat(runner)["dead"] == [runner]
    with pytest.raises(RunnerDead):
        house.claim(runner)


def test_what_was_not_begun_is_charged_nothing_and_keeps_its_turn(house):
    leader = house.leader()
    house.enqueue_many(2)
    begun, waiting = house.claim(house.runner(), 2, begin=1)
    house.outlive_leases(leader)
    assert house.call(verbs.reap(100)) == 2
    assert (house.history(begun.id), house.history(waiting.id)) == (["interrupted"], [])
    again = house.claim(house.runner())[0]
    assert (again.id, again.turn, again.interrupted) == (waiting.id, waiting.turn, 0)


def test_what_a_beat_said_was_begun_is_charged(house):
    leader = house.leader()
    house.enqueue_many(2)
    runner = house.runner()
    _, second = house.claim(runner, 2, begin=1)
    house.beat(runner, [second.bundle], begun=[str(second.id)])
    house.outlive_leases(leader)
    house.call(verbs.reap(100))
    assert house.history(second.id) == ["interrupted"]


def test_members_that_ended_stay_ended(house):
    house.enqueue_many(2)
    runner = house.runner()
    done, lost = house.claim(runner, 2)
    house.finish(runner, done)
    assert house.call(verbs.reap(100, runner, [lost.id])) == 1
    assert (house.state(done.id), house.state(lost.id)) == ("succeeded", "ready")
    assert house.count("running") == 0


def test_a_crash_is_reported_without_waiting_for_the_lease(house):
    house.enqueue_many(3)
    runner = house.runner()
    a, b, c = house.claim(runner, 3, begin=3)
    assert house.call(verbs.reap(100, runner, [b.id])) == 3
    assert [house.history(job.id) for job in (a, b, c)] == [[], ["interrupted"], []]


def test_a_reported_crash_touches_no_other_runner(house):
    runner, other = house.runner(), house.runner()
    job = house.running(other)
    assert house.call(verbs.reap(100, runner, [])) == 0
    assert house.finish(other, job) == {}


def test_a_second_report_finds_nothing(house):
    runner = house.runner()
    job = house.running(runner)
    assert house.call(verbs.reap(100, runner, [job.id])) == 1
    assert house.call(verbs.reap(100, runner, [job.id])) == 0
    assert house.history(job.id) == ["interrupted"]


def test_three_interruptions_make_poison(house):
    job = house.enqueue()
    for _ in range(3):
        runner = house.runner()
        assert house.claim(runner)[0].id == job
        house.call(verbs.reap(100, runner, [job]))
    assert house.history(job) == ["interrupted", "interrupted", "poisoned"]
    assert (house.state(job), house.entry("dead", job)["reason"]) == ("failed", "poison")
    assert house.entry("dead", job)["error"]["type"] == "Interrupted"


def test_after_an_outage_everybody_gets_a_whole_lease(house):
    leader = house.leader()
    runner = house.runner()
    job = house.running(runner)
    house.pass_time(300)  # nobody could write
    assert house.call(verbs.reap(100)) == 0
    house.call(verbs.lead(leader))
    for _ in range(2):
        house.pass_time(14)
        house.call(verbs.lead(leader))
        assert house.call(verbs.reap(100)) == 0
    house.beat(runner, [job.bundle])
    assert house.finish(runner, job) == {}


def test_bundles_of_a_runner_without_a_row_are_taken_back(house):
    runner = house.runner()
    job = house.running(runner)
    house.do("delete from leasehold.runner where id = %s", runner)
    assert house.call(verbs.reap(100)) == 1
    assert house.state(job.id) == "ready"


def test_a_cancelled_job_of_a_lost_runner_ends(house):
    runner = house.runner()
    job = house.running(runner)
    house.call(verbs.cancel([job.id], "ann", "wrong"))
    house.call(verbs.reap(100, runner, [job.id]))
    assert house.state(job.id) == "cancelled"


def test_dispatched_past_its_patience_comes_back(house):
    job = house.enqueue()
    house.call(verbs.dispatch("default", "redis", 10, 60))
    assert house.call(verbs.reap(100)) == 0
    house.pass_time(61)
    assert house.call(verbs.reap(100)) == 1
    assert (house.state(job), house.history(job)) == ("ready", [])


def test_dispatched_jobs_come_back_in_batches(house):
    house.enqueue_many(5)
    house.call(verbs.dispatch("default", "redis", 10, 60))
    house.pass_time(61)
    assert [house.call(verbs.reap(2)) for _ in range(4)] == [2, 2, 1, 0]


def test_one_call_takes_back_about_its_limit(house):
    leader = house.leader()
    house.enqueue_many(6)
    for _ in range(3):
        house.claim(house.runner(), 2)
    house.outlive_leases(leader)
    assert sum(house.call(verbs.reap(2)) for _ in range(2)) == 4
    assert sum(house.call(verbs.reap(2)) for _ in range(2)) == 2


def test_a_crash_report_takes_back_all_that_its_runner_held(house):
    """What were left for later would be charged as begun: only the report knows better."""
    jobs = house.enqueue_many(6)
    runner = house.runner()
    for _ in range(3):
        house.claim(runner, 2)
    assert house.call(verbs.reap(2, runner, [])) == 6
    assert [house.history(job) for job in jobs] == [[]] * 6


def test_a_reaped_runner_is_not_woken(house):
    runner = house.runner()
    house.call(verbs.sleep(runner, ["default"]))
    house.call(verbs.reap(10, runner, []))
    assert house.count("sleeper") == 0


def test_a_claim_in_progress_is_waited_for_and_reaped_too(house):
    """The claim holds the lease row: the crash report waits, then finds the bundle."""
    runner, other = house.runner(), house.connect()
    job = house.enqueue()
    with other.transaction():
        house.claim(runner, by=other)
        report = house.aside(lambda c: house.call(verbs.reap(10, runner, [job]), c))
        report.blocked()
    assert report.result() == 1
    assert house.state(job) == "ready"
