"""10. Upkeep works in bounded batches, can be run twice, never touches a live job wrongly."""

from datetime import timedelta

import pytest

from leasehold.store import verbs

UPKEEP = {
    "promote": verbs.promote,
    "unblock": verbs.unblock,
    "expire": verbs.expire,
    "reap": verbs.reap,
    "retain": verbs.retain,
    "fold": verbs.fold,
}


def live_in_every_room(house):
    runner = house.runner()
    jobs = {
        "running": house.running(runner).id,
        "scheduled": house.enqueue(delay=timedelta(days=90)),
        "waiting": house.enqueue(hold="x"),
        "dispatched": house.enqueue(queue="sent"),
        "ready": house.enqueue(),
    }
    house.call(verbs.dispatch("sent", "redis", 1, 10**7))
    return runner, jobs


@pytest.mark.parametrize("verb", UPKEEP)
def test_twice_in_a_row_with_nothing_to_do(house, verb):
    _, jobs = live_in_every_room(house)
    done = [house.call(UPKEEP[verb](9)) for _ in range(2)]
    assert [one[0] if verb == "promote" else one for one in done] == [0, 0]
    assert {room: house.rooms(job) for room, job in jobs.items()} == {room: {room} for room in jobs}


def test_after_a_month_live_jobs_are_where_they_were(house):
    runner, jobs = live_in_every_room(house)
    leader = house.leader()
    for _ in range(30):
        house.pass_time(86400)
        house.call(verbs.lead(leader))
        house.beat(runner, [1])
        for verb in UPKEEP.values():
            house.call(verb(9))
    assert {room: house.rooms(job) for room, job in jobs.items()} == {room: {room} for room in jobs}


@pytest.mark.parametrize("verb", UPKEEP)
def test_two_leaders_at_once_never_deadlock(house, verb):
    live_in_every_room(house)
    other = house.connect()
    with other.transaction():
        house.call(UPKEEP[verb](9), other)
        house.call(UPKEEP[verb](9))
