"""lead: asks to be, or stay, the leader."""

from leasehold.store import verbs


def lead(house, worker, by=None):
    return house.call(verbs.lead(worker), by)


def test_the_first_who_asks_leads_and_stays_leader(house):
    first, second = house.worker(), house.worker()
    assert [lead(house, worker) for worker in (first, second, first)] == [1, None, 1]


def test_whoever_has_not_ticked_for_five_seconds_has_given_it_up(house):
    first, second = house.worker(), house.worker()
    lead(house, first)
    house.pass_time(4)
    assert lead(house, second) is None
    house.pass_time(2)
    assert lead(house, second) == 2
    assert lead(house, first) is None


def test_a_late_leader_that_nobody_replaced_goes_on_with_its_term(house):
    worker = house.worker()
    lead(house, worker)
    house.pass_time(60)
    assert lead(house, worker) == 1


def test_two_who_ask_at_once_make_one_leader(house):
    first, second, other = house.worker(), house.worker(), house.connect()
    with other.transaction():
        assert lead(house, first, other) == 1
        late = house.aside(lambda c: lead(house, second, c))
        late.blocked()
    assert late.result() is None


def resumed(house):
    return house.value("select resumed_at from leasehold.leader")


def test_a_gap_of_fifteen_seconds_starts_every_lease_anew(house):
    worker = house.worker()
    lead(house, worker)
    before = resumed(house)
    house.pass_time(14)
    lead(house, worker)
    assert resumed(house) == before
    house.pass_time(16)
    lead(house, worker)
    assert resumed(house) > before


def test_a_clock_set_back_leaves_no_lease_that_outlives_its_holder(house):
    worker, runner = house.worker(), house.runner()
    lead(house, worker)
    house.pass_time(-3600)
    assert lead(house, worker) == 1
    sql = "select expires_at <= leasehold.now() + interval '31 seconds' from leasehold.runner"
    assert house.value(f"{sql} where id = %s", runner)


def test_a_clock_set_back_does_not_lock_out_a_new_leader(house):
    first, second = house.worker(), house.worker()
    lead(house, first)
    house.pass_time(-3600)
    assert lead(house, second) == 2
