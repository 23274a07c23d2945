"""7. An idempotency key never has two live jobs."""

from leasehold.store import verbs


def live(house, jobs):
    return sum(bool(house.rooms(job) - {"dead"}) for job in jobs)


def test_many_sessions_at_once(house):
    asides = [house.aside(lambda c: house.enqueue(key="k", by=c)) for _ in range(8)]
    assert live(house, [one.result() for one in asides]) == 1


def test_enqueues_and_retries_at_once(house):
    jobs = [house.dead(key="k") for _ in range(3)]
    works = [lambda c, j=job: house.call(verbs.retry([j], "ann"), c) for job in jobs]
    works += [lambda c: jobs.append(house.enqueue(key="k", by=c))] * 3
    for one in [house.aside(work) for work in works]:
        one.result()
    assert live(house, jobs) == 1


def test_a_holder_that_ends_while_another_asks(house):
    """Whichever commits first: the other either is its twin or takes over."""
    runner, other = house.runner(), house.connect()
    job = house.running(runner, key="k")
    with other.transaction():
        house.finish(runner, job, by=other)
        twin = house.enqueue(key="k")
    assert house.rooms(twin) == set()
    assert house.rooms(house.enqueue(key="k")) == {"ready"}
