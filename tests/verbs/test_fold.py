"""fold: the tally's deltas become one row a minute, queue, task and outcome."""

from leasehold.store import verbs


def tell(house, *outcomes):
    said = {"queue": "q", "task": "t", "n": 1, "run_ms": 10, "wait_ms": 5}
    house.call(verbs.beat(house.worker(), [], [{**said, "outcome": o} for o in outcomes]))


def tally(house):
    return house.rows("select outcome, n, run_ms, wait_ms from leasehold.tally order by 1")


def test_deltas_of_one_minute_are_added_up(house):
    house.clock.freeze()
    tell(house, "failed", "succeeded", "succeeded")
    assert house.call(verbs.fold(10)) == 3
    assert tally(house) == [("failed", 1, 10, 5), ("succeeded", 2, 20, 10)]
    assert house.count("tally_delta") == 0


def test_later_deltas_are_added_to_the_row(house):
    house.clock.freeze()
    for _ in range(2):
        tell(house, "succeeded")
        house.call(verbs.fold(10))
    assert tally(house) == [("succeeded", 2, 20, 10)]


def test_each_minute_has_its_own_row(house):
    tell(house, "succeeded")
    house.pass_time(61)
    tell(house, "succeeded")
    house.call(verbs.fold(10))
    assert len(tally(house)) == 2


def test_it_folds_no_more_than_its_limit_and_loses_nothing(house):
    house.clock.freeze()
    tell(house, *["succeeded"] * 5)
    assert [house.call(verbs.fold(2)) for _ in range(4)] == [2, 2, 1, 0]
    assert tally(house) == [("succeeded", 5, 50, 25)]


def test_two_leaders_for_a_moment_count_nothing_twice(house):
    house.clock.freeze()
    tell(house, *["succeeded"] * 4)
    other = house.connect()
    with other.transaction():
        house.call(verbs.fold(2), other)
        second = house.aside(lambda c: house.call(verbs.fold(9), c))
        second.blocked()
    assert second.result() == 2
    assert tally(house) == [("succeeded", 4, 40, 20)]
