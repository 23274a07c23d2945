"""8. Claim order within a queue is priority, then turn, then id."""

import random

from leasehold.store import verbs


def test_of_two_hundred_jobs_with_every_kind_of_past(house):
    """Over three segments, some given back, some delayed: what comes out is sorted."""
    dice = random.Random(8)
    runner = house.runner()
    for size in (80, 60, 60):
        house.enqueue_all([{"priority": dice.choice([1, 50, 100])} for _ in range(size)])
        some = house.claim(runner, 20)
        house.release(runner, *dice.sample(some, 10))
        back = [job for job in some if house.rooms(job.id) == {"running"}]
        house.finish(runner, *back, outcome="retried")
        house.call(verbs.rotate(0))
        house.call(verbs.rotate(10**9))
    expected, claimed = house.ready(), []
    while some := house.claim(runner, dice.randint(1, 30), marks=house.marks):
        claimed += some
    assert len(claimed) == 200
    assert [job.id for job in claimed] == expected
    places = [(job.priority, job.turn, job.id) for job in claimed]
    assert places == sorted(places)


def test_of_the_same_turn_the_lower_id_goes_first(house):
    house.clock.freeze()
    jobs = house.enqueue_many(20)
    assert [job.id for job in house.claim(house.runner(), 20)] == sorted(jobs)


def test_a_bundle_keeps_the_order_in_which_it_is_begun(house):
    house.enqueue_all([{"priority": p} for p in (5, 1, 3)])
    jobs = house.claim(house.runner(), 3, begin=1)
    assert house.rows("select job_ids, begun from leasehold.running") == [
        ([job.id for job in jobs], 1)
    ]
