"""finish: running → ended, scheduled, ready or dead."""

import pytest

from leasehold.errors import LeaseLost
from leasehold.store import verbs


def test_a_job_that_succeeded_has_one_attempt_with_its_result(house):
    runner = house.runner()
    job = house.running(runner)
    assert house.finish(runner, job, result={"ok": 1}, run_ms=12) == {}
    line = house.attempt(job.id)
    assert (line["outcome"], line["result"], line["run_ms"]) == ("succeeded", {"ok": 1}, 12)
    assert (line["runner"], line["claim_no"]) == (runner, 1)
    assert house.count("running") == 0


def test_a_bundle_stays_while_a_member_runs(house):
    house.enqueue_many(3)
    runner = house.runner()
    a, b, c = house.claim(runner, 3)
    assert house.finish(runner, b) == {}
    assert house.value("select held from leasehold.running") == 2
    assert house.finish(runner, a, c) == {}
    assert house.count("running") == 0


def test_members_of_many_bundles_end_in_one_call(house):
    house.enqueue_many(4)
    runner = house.runner()
    jobs = house.claim(runner, 2) + house.claim(runner, 2)
    assert len({job.bundle for job in jobs}) == 2
    assert house.finish(runner, *jobs) == {}
    assert house.count("running") == 0


def test_a_repeated_finish_is_already_done(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job)
    assert house.finish(runner, job) == {job.id: "already"}
    assert house.history(job.id) == ["succeeded"]


def test_a_repeat_beside_a_new_end_ends_the_new_one(house):
    house.enqueue_many(2)
    runner = house.runner()
    first, second = house.claim(runner, 2)
    house.finish(runner, first)
    assert house.finish(runner, first, second) == {first.id: "already"}
    assert house.state(second.id) == "succeeded"


def test_a_job_named_twice_in_one_call_ends_once(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job, job)
    assert house.history(job.id) == ["succeeded"]
    assert house.count("running") == 0


def test_another_runner_may_not_finish(house):
    job, stranger = house.running(house.runner()), house.runner()
    assert house.finish(stranger, job) == {job.id: "lost"}
    assert house.state(job.id) == "running"


def test_another_claim_number_may_not_finish(house):
    runner = house.runner()
    job = house.running(runner)
    assert house.finish(runner, job._replace(claim_no=2)) == {job.id: "lost"}
    assert house.state(job.id) == "running"


def test_a_late_finish_after_reaping_is_lost(house):
    late = house.runner()
    job = house.running(late)
    house.call(verbs.reap(10, late, [job.id]))
    assert house.finish(late, job) == {job.id: "lost"}
    assert house.history(job.id) == ["interrupted"]


def test_a_dead_runner_finishes_nothing_before_its_jobs_have_moved_either(house):
    runner = house.runner()
    job = house.running(runner)
    house.do("update leasehold.runner set dead_at = leasehold.now() where id = %s", runner)
    assert house.finish(runner, job) == {job.id: "lost"}
    assert house.finish(runner, job, outcome="failed") == {job.id: "lost"}
    assert house.state(job.id) == "running"


def test_what_was_done_before_the_runner_died_stays_done(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job)
    house.call(verbs.reap(10, runner, []))
    assert house.finish(runner, job) == {job.id: "already"}


def test_strict_raises_for_a_lost_job_and_keeps_the_transaction_from_committing(house):
    runner = house.runner()
    job = house.running(runner)
    house.call(verbs.reap(10, runner, [job.id]))
    other = house.connect()
    with pytest.raises(LeaseLost) as error, other.transaction():  # noqa: PT012  all of it goes
        other.execute("create table receipt ()")
        house.finish(runner, job, strict=True, by=other)
    assert (error.value.job, error.value.__cause__.sqlstate) == (str(job.id), "LH001")
    assert house.value("select to_regclass('receipt')") is None


def test_strict_lets_a_done_one_pass(house):
    runner = house.runner()
    job = house.running(runner)
    assert house.finish(runner, job, strict=True) == {}
    assert house.finish(runner, job, strict=True) == {job.id: "already"}


def test_a_finish_that_rolls_back_leaves_the_job_running(house):
    runner, other = house.runner(), house.connect()
    job = house.running(runner)
    with other.transaction(force_rollback=True):
        assert house.finish(runner, job, by=other) == {}
    assert house.state(job.id) == "running"
    assert house.finish(runner, job) == {}


def test_retried_goes_on_after_its_delay_with_an_attempt_more(house):
    runner = house.runner()
    job = house.running(runner)
    error = {"type": "Boom", "message": "no"}
    assert house.finish(runner, job, outcome="retried", delay=60, error=error) == {}
    assert house.state(job.id) == "scheduled"
    assert house.attempt(job.id)["error"] == error
    house.pass_time(61)
    assert house.call(verbs.promote(10)) == (1, None)
    again = house.claim(runner)[0]
    assert (again.id, again.claim_no, again.attempts) == (job.id, 2, 1)


def test_retried_without_a_delay_is_ready_at_once(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job, outcome="retried")
    assert house.state(job.id) == "ready"


def test_failed_puts_a_full_copy_into_dead(house):
    runner = house.runner()
    job = house.running(runner, payload={"n": 1}, key="k", tenant="acme", tags=["x"])
    house.finish(runner, job, outcome="failed", error={"type": "Boom", "message": "no"})
    copy = house.entry("dead", job.id)
    assert (copy["reason"], copy["payload"], copy["key"]) == ("failed", {"n": 1}, "k")
    assert (copy["error"]["type"], copy["attempts"], copy["tags"]) == ("Boom", 1, ["x"])
    assert house.state(job.id) == "failed"


def test_cancelled_ends_it_by_its_own_wish(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job, outcome="cancelled", error={"type": "Cancel", "message": "enough"})
    assert house.state(job.id) == "cancelled"
    assert house.attempt(job.id)["error"]["message"] == "enough"


def test_snoozed_leaves_no_attempt_and_charges_none(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job, outcome="snoozed", delay=30)
    assert (house.state(job.id), house.history(job.id)) == ("scheduled", [])
    house.pass_time(31)
    house.call(verbs.promote(10))
    again = house.claim(runner)[0]
    assert (again.claim_no, again.attempts) == (2, 0)


def test_sent_on_goes_to_another_queue_and_priority(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job, outcome="sent_on", queue="gpu", priority=3)
    again = house.claim(runner, queues=["gpu"])[0]
    assert (again.id, again.priority, again.attempts) == (job.id, 3, 0)
    assert house.history(job.id) == ["sent_on"]


def test_run_at_is_kept_to_the_microsecond(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job, outcome="snoozed", run_at="2999-01-01 00:00:00.123456+00")
    assert house.entry("scheduled", job.id)["run_at"].startswith("2999-01-01T00:00:00.123456")


def test_many_outcomes_in_one_call(house):
    house.enqueue_many(4)
    runner = house.runner()
    a, b, c, d = house.claim(runner, 4)
    others = [
        {"job": str(b.id), "claim": 1, "outcome": "retried"},
        {"job": str(c.id), "claim": 1, "outcome": "failed"},
        {"job": str(d.id), "claim": 1, "outcome": "snoozed", "delay": 5},
    ]
    call = verbs.finish(runner, [a.bundle], [a.id], [1], [1], None, verbs._json(others))
    assert house.call(call) == []
    assert [house.state(job.id) for job in (a, b, c, d)] == [
        "succeeded",
        "ready",
        "failed",
        "scheduled",
    ]


def test_others_are_fenced_like_successes(house):
    job, stranger = house.running(house.runner()), house.runner()
    assert house.finish(stranger, job, outcome="failed") == {job.id: "lost"}
    assert house.state(job.id) == "running"


@pytest.mark.parametrize("outcome", ["retried", "failed", "sent_on", "cancelled"])
def test_a_repeat_of_another_outcome_is_already_done(house, outcome):
    runner = house.runner()
    job = house.running(runner)
    assert house.finish(runner, job, outcome=outcome, delay=9) == {}
    assert house.finish(runner, job, outcome=outcome, delay=9) == {job.id: "already"}
    assert house.history(job.id) == [outcome]


def test_a_struck_member_cannot_be_finished(house):
    house.enqueue_many(2)
    runner = house.runner()
    gone, stays = house.claim(runner, 2)
    house.finish(runner, gone, outcome="snoozed", delay=9)
    assert house.finish(runner, gone) == {gone.id: "lost"}
    assert house.state(gone.id) == "scheduled"
    assert house.finish(runner, stays) == {}


@pytest.mark.parametrize("outcome", ["retried", "snoozed", "sent_on"])
def test_a_wish_that_it_stop_overrules_going_on(house, outcome):
    runner = house.runner()
    job = house.running(runner)
    house.call(verbs.cancel([job.id], "ann", "wrong"))
    assert house.finish(runner, job, outcome=outcome, delay=9) == {}
    assert house.state(job.id) == "cancelled"
    assert house.attempt(job.id)["error"]["message"] == "wrong"
    assert house.count("cancel_request") == 0


def test_a_wish_comes_too_late_for_a_job_that_succeeded(house):
    runner = house.runner()
    job = house.running(runner)
    house.call(verbs.cancel([job.id], "ann"))
    assert house.finish(runner, job) == {}
    assert house.state(job.id) == "succeeded"


def test_empty_hands_finish_nothing(house):
    assert house.finish(house.runner()) == {}


def test_the_refusal_says_who_holds_the_job_now(house):
    runner, heir = house.runner(), house.runner()
    job = house.running(runner)
    house.call(verbs.reap(10, runner, [job.id]))
    house.claim(heir)
    with pytest.raises(LeaseLost, match=f"runner {heir} holds it"):
        house.finish(runner, job, strict=True)
