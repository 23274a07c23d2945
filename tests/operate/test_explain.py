"""One reason, and the right one: every way in which a job can be kept from running."""

from datetime import timedelta

import pytest

from leasehold.operate.ask import on
from leasehold.operate.explain import explain
from leasehold.store import verbs


@pytest.fixture
def why(house):
    def why(job):
        return explain(on(house.connection), job)

    return why


def test_nobody_is_there(house, why):
    assert why(house.enqueue()).code == "no_worker"


def test_nobody_serves_its_queue(house, why):
    house.runner(house.worker(queues=["other"]))
    found = why(house.enqueue(queue="mail"))
    assert found.code == "queue_unserved"
    assert "'other'" in found.text
    assert "--queue mail" in found.next


def test_nobody_knows_its_task(house, why):
    house.runner(house.worker(tasks=["other"]))
    assert why(house.enqueue(task="t")).code == "unknown_task"


def test_others_are_ahead_of_it(house, why):
    house.runner()
    house.enqueue_many(3)
    found = why(house.enqueue())
    assert found.code == "behind_others"
    assert found.text.startswith("3 jobs are ahead of it")


def test_it_is_the_next(house, why):
    house.runner()
    assert why(house.enqueue()).code == "next"


def test_it_is_scheduled(house, why):
    house.runner()
    found = why(house.enqueue(delay=timedelta(hours=1)))
    assert found.code == "scheduled"
    assert "60 min" in found.text


def test_its_time_came_and_no_leader_moved_it(house, why):
    job = house.enqueue(delay=timedelta(seconds=5))
    worker = house.worker()
    house.pass_time(60)
    house.runner(worker)
    assert why(job).code == "no_leader"


def test_it_failed_and_is_tried_again(house, why):
    runner = house.runner()
    job = house.running(runner, max_attempts=5)
    error = {"type": "Boom", "message": "no\nluck"}
    house.finish(runner, job, outcome="retried", error=error, delay=90)
    found = why(job.id)
    assert found.code == "retrying"
    assert "run 1 failed with Boom: no;" in found.text
    assert "4 of 5 attempts are left" in found.text


def test_somebody_holds_it(house, why):
    job = house.enqueue()
    house.call(verbs.hold([job], "ann@desk", "look first"))
    found = why(job)
    assert found.code == "held"
    assert "by ann@desk: look first" in found.text
    assert found.next == f"leasehold resume {job}"


def test_it_was_enqueued_held(house, why):
    assert "at its enqueue: not yet" in why(house.enqueue(hold="not yet")).text


def test_a_transport_has_it(house, why):
    job = house.enqueue()
    house.call(verbs.dispatch("default", "redis", 1, 60))
    found = why(job)
    assert found.code == "dispatched"
    assert "redis" in found.text


def test_it_runs(house, why):
    runner = house.runner()
    job = house.running(runner)
    saved = [{"bundle": job.bundle, "job": str(job.id), "progress": 40, "note": "page 2"}]
    house.call(verbs.save(runner, saved))
    found = why(job.id)
    assert found.code == "running"
    assert "at 40 % (page 2)" in found.text


def test_it_waits_in_its_runners_hands(house, why):
    house.enqueue_many(2)
    first, second = house.claim(house.runner(), 2, begin=1)
    assert why(first.id).code == "running"
    assert why(second.id).code == "assigned"


def test_its_runner_is_blocked(house, why):
    runner = house.runner()
    job = house.running(runner)
    house.beat(runner, [job.bundle], loop_age=20)
    assert why(job.id).code == "loop_blocked"


@pytest.mark.parametrize(("seconds", "code"), [(24, "lease_short"), (40, "lease_over")])
def test_its_runner_is_not_heard_of(house, why, seconds, code):
    job = house.running()
    house.pass_time(seconds)
    assert why(job.id).code == code


def test_it_is_to_stop(house, why):
    job = house.running()
    house.call(verbs.cancel([job.id], "ann"))
    assert why(job.id).code == "stopping"


def test_it_failed_for_good(house, why):
    job = house.dead()
    found = why(job)
    assert found.code == "failed"
    assert "Boom: no" in found.text
    assert f"leasehold retry {job}" in found.next


def test_it_is_poison(house, why):
    job = house.enqueue()
    for _ in range(3):
        runner = house.runner()
        house.claim(runner)
        house.call(verbs.reap(10, runner, [job]))
    found = why(job)
    assert found.code == "poison"
    assert "3 times" in found.text


def test_it_has_run(house, why):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job, run_ms=5)
    assert why(job.id).code == "succeeded"


def test_it_was_cancelled_or_is_too_late(house, why):
    cancelled, late = house.enqueue(), house.enqueue(deadline=house.clock.now())
    house.call(verbs.cancel([cancelled], "ann", "not wanted"))
    house.call(verbs.expire(10))
    assert "not wanted" in why(cancelled).text
    assert why(late).code == "expired"


def test_its_deadline_passed_while_it_ran(house, why):
    runner = house.runner()
    late = house.running(runner, deadline=house.clock.now().astimezone())
    error = {"type": "Expired", "message": "its deadline passed while it ran"}
    house.finish(runner, late, outcome="expired", error=error)
    assert "passed while it ran" in why(late.id).text


def test_another_job_has_its_key(house, why):
    first, twin = house.enqueue(key="k"), house.enqueue(key="k")
    found = why(twin)
    assert found.code == "duplicate"
    assert str(first) in found.text
