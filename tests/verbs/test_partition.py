"""partition: makes the days of job and attempt ahead."""

from leasehold.store import verbs


def days(house):
    sql = "select count(*) from pg_inherits where inhparent = 'leasehold.job'::regclass"
    return house.value(sql)


def test_so_many_days_ahead_are_made(house):
    before = days(house)
    assert house.call(verbs.partition(4)) == 2 * (days(house) - before) == 4


def test_a_second_call_makes_nothing(house):
    house.call(verbs.partition(3))
    assert house.call(verbs.partition(3)) == 0


def test_the_house_says_how_many_when_nobody_does(house):
    house.do("update leasehold.house set ahead = 5")
    house.call(verbs.partition())
    assert days(house) == 7  # yesterday, today and five


def test_days_that_pass_get_their_tables(house):
    house.pass_time(40 * 86400)
    job = house.enqueue()
    assert house.claim(house.runner())[0].id == job


def test_two_at_once_make_each_day_once(house):
    other = house.connect()
    with other.transaction():
        assert house.call(verbs.partition(4), other) == 4
        second = house.aside(lambda c: house.call(verbs.partition(4), c))
        second.blocked()
    assert second.result() == 0


def test_a_writer_is_not_waited_for_nor_made_to_wait(house):
    writer, other = house.connect(), house.connect()
    with writer.transaction(), other.transaction():
        house.enqueue(by=writer)
        assert house.call(verbs.partition(4), other) == 4
        house.enqueue(by=writer)
        assert len(house.claim(house.runner())) == 0
    assert len(house.claim(house.runner(), 9)) == 2


def test_new_days_have_the_indexes_of_the_others(house):
    house.call(verbs.partition(4))
    sql = (
        "select count(distinct n) from (select count(*) as n from pg_index x "
        "join pg_inherits i on i.inhrelid = x.indrelid "
        "where i.inhparent = 'leasehold.job'::regclass group by i.inhrelid) s"
    )
    assert house.value(sql) == 1
