"""purge: a tenant leaves, with all that was kept of it."""

from leasehold.store import verbs

KEPT = ("job", "attempt", "dead", "checkpoint", "job_key", "ready", "scheduled", "waiting")


def purge(house, tenant="acme", limit=100):
    return house.call(verbs.purge(tenant, limit, "ann"))


def test_waiting_and_ended_jobs_of_the_tenant_go_with_all_that_was_kept_of_them(house):
    house.enqueue(tenant="acme", key="k")
    house.enqueue(tenant="acme", delay="1 hour")
    house.enqueue(tenant="acme", hold="wait")
    house.dead(tenant="acme", queue="other")
    assert purge(house) == (4, 0)
    assert {table: house.count(table) for table in KEPT} == dict.fromkeys(KEPT, 0)


def test_other_tenants_and_jobs_without_one_stay(house):
    kept = {house.enqueue(tenant="umbra"), house.enqueue()}
    house.enqueue(tenant="acme")
    purge(house)
    assert set(house.ready()) == kept


def test_a_running_job_is_asked_to_stop_and_goes_when_it_has(house):
    runner = house.runner()
    job = house.running(runner, tenant="acme")
    assert purge(house) == (0, 1)
    assert house.beat(runner, [job.bundle])["cancel"] != []
    house.finish(runner, job, outcome="cancelled")
    assert purge(house) == (1, 0)
    assert house.state(job.id) is None


def test_it_goes_in_bounded_steps_until_nothing_is_left(house):
    house.enqueue_many(5, tenant="acme")
    assert [purge(house, limit=2)[0] for _ in range(4)] == [2, 2, 1, 0]


def test_a_tenant_nobody_knows_is_no_error(house):
    assert purge(house, "nobody") == (0, 0)


def test_a_job_that_is_opened_again_meanwhile_is_cancelled_and_goes(house):
    job = house.dead(tenant="acme")
    other = house.connect()
    with other.transaction():
        house.call(verbs.retry([job], "ann"), other)
        purging = house.aside(lambda c: house.call(verbs.purge("acme", 100, "ann"), c))
        purging.blocked()
    assert purging.result() == (1, 0)
    assert (house.rooms(job), house.state(job)) == (set(), None)
