"""hire: a runner process begins, with a lease of its own."""

from leasehold.store import verbs


def test_a_runner_gets_a_number_and_a_lease(house):
    worker = house.worker()
    runner, lease = house.call(verbs.hire(worker, 42))
    assert lease == 30
    sql = "select worker, pid, expires_at - started_at from leasehold.runner where id = %s"
    ((of, pid, lasts),) = house.rows(sql, runner)
    assert (of, pid, round(lasts.total_seconds())) == (worker, 42, 30)


def test_the_house_decides_how_long_a_lease_is(house):
    house.do("update leasehold.house set lease = '12 seconds'")
    assert house.call(verbs.hire(house.worker(), 1))[1] == 12


def test_numbers_are_never_given_twice(house):
    worker = house.worker()
    first = house.runner(worker)
    house.do("delete from leasehold.runner")
    assert house.runner(worker) > first


def test_a_runner_with_newer_code_tells_what_its_worker_serves_now(house):
    worker = house.worker(queues=["a"], tasks=["t"])
    house.call(verbs.hire(worker, 7))
    assert house.rows("select queues, tasks from leasehold.worker") == [(["a"], ["t"])]
    house.call(verbs.hire(worker, 8, ["a", "b"], ["t", "u"]))
    assert house.rows("select queues, tasks from leasehold.worker") == [(["a", "b"], ["t", "u"])]
