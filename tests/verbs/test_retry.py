"""retry: dead or ended → ready, the same job with its history and fresh attempts."""

from uuid import uuid4

from leasehold.store import verbs


def retry(house, *jobs, by=None, **said):
    return dict(house.call(verbs.retry(list(jobs), "ann", **said), by))


def test_a_dead_job_is_ready_with_fresh_attempts_and_its_history(house):
    job = house.dead(payload={"n": 1})
    assert retry(house, job) == {job: "retried"}
    assert (house.rooms(job), house.history(job)) == ({"ready"}, ["failed", "reopened"])
    runner = house.runner()
    again = house.claim(runner)[0]
    assert (again.id, again.attempts, again.claim_no) == (job, 0, 3)
    assert again.payload == {"n": 1}
    assert house.finish(runner, again) == {}


def test_a_job_that_succeeded_may_run_again(house):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job)
    assert retry(house, job.id) == {job.id: "retried"}
    assert house.state(job.id) == "ready"


def test_a_cancelled_job_may_run_after_all(house):
    job = house.enqueue()
    house.call(verbs.cancel([job], "ann"))
    assert retry(house, job) == {job: "retried"}
    assert house.state(job) == "ready"


def test_it_may_die_and_be_retried_again_and_again(house):
    job, runner = house.dead(), house.runner()
    for _ in range(3):
        assert retry(house, job) == {job: "retried"}
        house.finish(runner, *house.claim(runner), outcome="failed")
    assert house.history(job) == ["failed"] + ["reopened", "failed"] * 3


def test_interruptions_are_forgiven(house):
    job = house.enqueue()
    for _ in range(3):
        runner = house.runner()
        house.claim(runner)
        house.call(verbs.reap(9, runner, [job]))
    retry(house, job)
    assert house.claim(house.runner())[0].interrupted == 0


def test_to_another_queue_and_priority(house):
    job = house.dead()
    retry(house, job, queue="slow", priority=7)
    again = house.claim(house.runner(), queues=["slow"])[0]
    assert (again.id, again.priority) == (job, 7)


def test_one_that_has_not_ended_answers_with_its_state(house):
    ready, nobody = house.enqueue(), uuid4()
    running = house.running(house.runner(), priority=1).id
    found = retry(house, ready, running, nobody)
    assert found == {ready: "ready", running: "running", nobody: "not_found"}


def test_a_key_that_somebody_else_has_by_now_is_not_taken_back(house):
    job = house.dead(key="k")
    other = house.enqueue(key="k")
    assert retry(house, job) == {job: "key_taken"}
    assert (house.state(job), house.state(other)) == ("failed", "ready")


def test_a_key_whose_later_holder_has_ended_is_taken_back(house):
    job = house.dead(key="k")
    runner = house.runner()
    house.finish(runner, house.running(runner, key="k"))
    assert retry(house, job) == {job: "retried"}
    assert house.rooms(house.enqueue(key="k")) == set()


def test_of_two_dead_ones_with_one_key_one_is_retried(house):
    jobs = [house.dead(key="k"), house.dead(key="k")]
    assert sorted(retry(house, *jobs).values()) == ["key_taken", "retried"]


def test_a_twin_never_runs(house):
    house.enqueue(key="k")
    twin = house.enqueue(key="k")
    assert retry(house, twin) == {twin: "not_found"}


def test_two_who_retry_at_once_reopen_it_once(house):
    job, other = house.dead(), house.connect()
    with other.transaction():
        retry(house, job, by=other)
        second = house.aside(lambda c: retry(house, job, by=c))
        second.blocked()
    assert second.result() == {job: "ready"}
    assert house.history(job) == ["failed", "reopened"]


def test_a_keyed_retry_and_an_enqueue_of_its_key_at_once(house):
    job, other = house.dead(key="k"), house.connect()
    with other.transaction():
        retry(house, job, by=other)
        twin = house.aside(lambda c: house.enqueue(key="k", by=c))
        twin.blocked()
    assert house.rooms(twin.result()) == set()


def test_an_enqueue_of_its_key_first_and_the_retry_after(house):
    job, other = house.dead(key="k"), house.connect()
    with other.transaction():
        house.enqueue(key="k", by=other)
        late = house.aside(lambda c: retry(house, job, by=c))
        late.blocked()
    assert late.result() == {job: "key_taken"}


def test_named_twice_it_is_retried_once(house):
    job = house.dead()
    retry(house, job, job)
    assert house.ready() == [job]


def test_it_is_written_down_who_did_it(house):
    job = house.dead()
    retry(house, job, reason="fixed")
    assert house.rows("select actor, verb, note from leasehold.audit") == [
        ("ann", "retry", "fixed")
    ]
    assert house.attempt(job)["error"]["message"] == "fixed"
