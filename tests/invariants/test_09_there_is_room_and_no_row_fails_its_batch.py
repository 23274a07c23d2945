"""9. Counters, ids and batches have room; multi-row verbs lock in job_id order."""

import random

from leasehold.store import verbs


def test_a_job_that_moved_a_million_times_goes_on(house):
    runner = house.runner()
    job = house.running(runner)
    house.release(runner, job)
    house.do("update leasehold.ready set claim_no = 1000000, moves = 1000000")
    (again,) = house.claim(runner)
    assert again.claim_no == 1000001
    assert house.finish(runner, again, outcome="snoozed", delay=1) == {}


def test_five_thousand_jobs_in_one_call_of_each_verb(house):
    runner = house.runner()
    house.enqueue_many(5000)
    jobs = house.claim(runner, 5000)
    assert len(jobs) == 5000
    assert len(house.release(runner, *jobs)) == 5000
    assert house.finish(runner, *house.claim(runner, 5000)) == {}


def test_one_refused_member_does_not_keep_the_others_from_ending(house):
    house.enqueue_many(3)
    runner = house.runner()
    a, b, c = house.claim(runner, 3)
    house.finish(runner, b)
    assert house.finish(runner, a, b._replace(claim_no=7), c) == {b.id: "lost"}
    assert [house.state(job.id) for job in (a, c)] == ["succeeded", "succeeded"]


def test_many_hands_on_the_same_jobs_in_any_order_never_deadlock(house):
    jobs = house.enqueue_many(60)
    dice = random.Random(9)
    both = [dice.sample(jobs, 60) for _ in range(4)]
    works = [
        lambda c: house.call(verbs.cancel(both[0], "a"), c),
        lambda c: house.call(verbs.hold(both[1], "b"), c),
        lambda c: house.call(verbs.resume(both[2], "c"), c),
        lambda c: house.call(verbs.retry(both[3], "d"), c),
        lambda c: house.call(verbs.cancel(both[3], "e"), c),
    ]
    for one in [house.aside(work) for work in works * 2]:
        one.result()
