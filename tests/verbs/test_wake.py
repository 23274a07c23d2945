"""wake: these queues have news."""

from leasehold.store import verbs


def asleep(house):
    return [
        row[0] for row in house.rows("select distinct runner from leasehold.sleeper order by 1")
    ]


def sleepers(house, count, *queues):
    runners = [house.runner() for _ in range(count)]
    for runner in runners:
        house.call(verbs.sleep(runner, list(queues or ("default",))))
    return runners


def test_a_woken_runner_hears_it_and_sleeps_no_more(house):
    (runner,) = sleepers(house, 1, "a", "b")
    listener = house.connect()
    listener.execute(f"listen leasehold_runner_{runner}")
    house.call(verbs.wake(["b"]))
    assert [n.payload for n in listener.notifies(timeout=5, stop_after=1)] == ["jobs"]
    assert asleep(house) == []


def test_as_many_as_there_are_jobs_and_one_more(house):
    sleepers(house, 5)
    house.call(verbs.wake(["default"], 2))
    assert len(asleep(house)) == 2


def test_other_queues_sleep_on(house):
    runners = sleepers(house, 1, "a")
    house.call(verbs.wake(["b"]))
    assert asleep(house) == runners


def test_nobody_asleep_costs_nothing(house):
    house.call(verbs.wake(["default"]))


def test_two_who_wake_at_once_do_not_wait_for_each_other(house):
    sleepers(house, 2)
    other = house.connect()
    with other.transaction():
        house.call(verbs.wake(["default"], 1), other)
        house.call(verbs.wake(["default"], 1))
    assert asleep(house) == []
