"""claim: ready → running."""

import functools
import operator

import pytest

from leasehold.errors import AccessRefused
from leasehold.store import verbs
from leasehold.store.refusal import RunnerDead


def segments(house):
    return set(house.rows("select distinct segment from leasehold.ready"))


def rotate(house):
    """The next segment is open, the one before it sealed."""
    assert house.call(verbs.rotate(0))[2] is not None
    return house.call(verbs.rotate())


def ids(jobs):
    return [job.id for job in jobs]


def test_a_claimed_job_brings_all_that_a_run_needs(house):
    job = house.enqueue(
        task="mail",
        payload={"user": 1},
        priority=7,
        tenant="acme",
        timeout=1.5,
        max_attempts=4,
        headers={"trace": "x"},
    )
    found = house.claim(house.runner())[0]
    assert found.id == job
    assert (found.task, found.payload, found.priority, found.tenant) == (
        "mail",
        {"user": 1},
        7,
        "acme",
    )
    assert (found.timeout, found.max_attempts, found.headers) == (1.5, 4, {"trace": "x"})
    assert (found.claim_no, found.attempts, found.interrupted) == (1, 0, 0)


def test_a_large_payload_is_left_in_the_job(house):
    job = house.enqueue(payload={"text": "".join(str(n) for n in range(1000))})
    assert house.claim(house.runner())[0].payload is None
    assert house.value("select payload ->> 'text' from leasehold.job where id = %s", job)


def test_a_claim_takes_no_more_than_its_limit_and_each_job_once(house):
    jobs = house.enqueue_many(5)
    runner = house.runner()
    taken = [ids(house.claim(runner, 2)) for _ in range(4)]
    assert [len(some) for some in taken] == [2, 2, 1, 0]
    assert functools.reduce(operator.iadd, taken, []) == jobs


def test_lower_priority_goes_first_then_the_earlier_turn_then_the_id(house):
    late = house.enqueue(priority=5)
    low = house.enqueue_many(2, priority=200)
    first = house.enqueue(priority=-1)
    assert ids(house.claim(house.runner(), 9)) == [first, late, *low]


def test_queues_are_served_in_the_order_the_runner_names_them(house):
    jobs = {queue: house.enqueue(queue=queue) for queue in ("a", "b", "c")}
    claimed = house.claim(house.runner(), 2, queues=["c", "a"])
    assert ids(claimed) == [jobs["c"], jobs["a"]]
    assert len({job.bundle for job in claimed}) == 2  # a bundle is of one queue


def test_only_tasks_that_the_runner_knows(house):
    jobs = house.enqueue_all([{"task": t} for t in "abab"])
    runner = house.runner()
    assert ids(house.claim(runner, 9, tasks=["b"])) == [jobs[1], jobs[3]]
    assert ids(house.claim(runner, 9, tasks=["b"])) == []
    assert ids(house.claim(runner, 9, tasks=["a", "b"])) == [jobs[0], jobs[2]]


def test_what_is_begun_at_once_is_running_and_the_rest_assigned(house):
    first, second = house.enqueue_many(2)
    house.claim(house.runner(), 2, begin=1)
    assert (house.state(first), house.state(second)) == ("running", "assigned")


def test_begin_counts_over_all_queues_of_a_claim(house):
    a, b, c = (house.enqueue(queue=queue) for queue in "abc")
    house.claim(house.runner(), 3, queues=["a", "b", "c"], begin=2)
    assert [house.state(job) for job in (a, b, c)] == ["running", "running", "assigned"]


def test_order_holds_across_segments(house):
    jobs = []
    for _ in range(3):
        jobs += house.enqueue_many(2, priority=10)
        jobs += house.enqueue_many(2, priority=20)
        if len(jobs) < 12:
            rotate(house)
    assert len(segments(house)) == 3
    ordered = [job for rank in (0, 1) for at in (0, 4, 8) for job in jobs[at + 2 * rank :][:2]]
    runner = house.runner()
    taken = [ids(house.claim(runner, 5)) for _ in range(4)]
    assert functools.reduce(operator.iadd, taken, []) == ordered


def test_order_holds_when_heads_of_segments_alternate(house):
    house.clock.freeze()
    for number in range(3):
        house.enqueue_all([{"priority": 3 * n + number} for n in range(4)])
        if number < 2:
            rotate(house)
    claimed = house.claim(house.runner(), 12)
    assert [job.priority for job in claimed] == list(range(12))


@pytest.mark.parametrize("marks", ["given", "omitted", "stale", "foreign"])
def test_marks_change_nothing_but_the_speed(house, marks):
    jobs = house.enqueue_many(6)
    rotate(house)
    jobs += house.enqueue_many(2)
    runner, known, taken = house.runner(), None, []
    for _ in range(6):
        taken += ids(house.claim(runner, 2, marks=known))
        if marks == "given" or (marks == "stale" and known is None):
            known = house.marks
        elif marks == "foreign":
            known = {"0": {"generation": 99, "queues": {"default": [32000, "2999-01-01", None]}}}
    assert taken == jobs


def test_only_sealed_segments_are_marked(house):
    house.enqueue_many(2)
    house.claim(house.runner(), 1)
    assert house.marks is None
    rotate(house)
    house.claim(house.runner(), 1)
    assert set(house.marks) == {"0"}


def test_marks_of_an_earlier_generation_are_not_believed(house):
    house.enqueue_many(2)
    rotate(house)
    house.claim(house.runner(), 2)
    old = house.marks
    for _ in range(3):
        rotate(house)
    again = house.enqueue(priority=1)  # before the mark, in the same segment
    rotate(house)
    assert ids(house.claim(house.runner(), 1, marks=old)) == [again]


def test_a_claim_that_rolled_back_is_found_again_below_the_mark(house):
    jobs = house.enqueue_many(4)
    rotate(house)
    runner, other = house.runner(), house.connect()
    with other.transaction(force_rollback=True):
        assert ids(house.claim(house.runner(), 2, by=other)) == jobs[:2]
        assert ids(house.claim(runner, 2)) == jobs[2:]
    assert ids(house.claim(runner, 2, marks=house.marks)) == jobs[:2]


def test_two_claims_at_once_share_the_jobs(house):
    jobs = house.enqueue_many(4)
    other = house.connect()
    with other.transaction():
        assert ids(house.claim(house.runner(), 2, by=other)) == jobs[:2]
        assert ids(house.claim(house.runner(), 4)) == jobs[2:]


def test_jobs_whose_head_somebody_else_locks_do_not_hide_the_next_segment(house):
    first = house.enqueue_many(2)
    rotate(house)
    second = house.enqueue_many(2)
    other = house.connect()
    with other.transaction():
        assert ids(house.claim(house.runner(), 2, by=other)) == first
        assert ids(house.claim(house.runner(), 4)) == second


def test_a_job_of_a_claim_that_is_not_committed_is_not_claimed_by_another(house):
    house.enqueue()
    other = house.connect()
    with other.transaction(force_rollback=True):
        assert len(house.claim(house.runner(), 1, by=other)) == 1
        assert house.claim(house.runner(), 1) == []
    assert len(house.claim(house.runner(), 1)) == 1


def test_a_reaped_runner_may_not_claim(house):
    runner = house.runner()
    house.enqueue()
    house.call(verbs.reap(10, runner, []))
    with pytest.raises(RunnerDead):
        house.claim(runner)
    assert len(house.claim(house.runner())) == 1


def test_a_runner_that_was_never_hired_may_not_claim(house):
    with pytest.raises(RunnerDead):
        house.claim(12345)


def test_a_role_claims_from_its_queues_only(house):
    house.do("insert into leasehold.role_queue (role, queue) values (session_user, 'mine')")
    job = house.enqueue(queue="mine")
    runner = house.runner()
    with pytest.raises(AccessRefused, match="may not work on all of the queues"):
        house.claim(runner, queues=["mine", "theirs"])
    assert ids(house.claim(runner, queues=["mine"])) == [job]
