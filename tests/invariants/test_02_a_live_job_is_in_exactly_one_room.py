"""2. A live job is in exactly one room, an ended one in none."""

import psycopg
import pytest

from leasehold.store import verbs


def test_along_a_long_way_through_all_rooms(house):
    job, runner = house.enqueue(hold="x"), house.runner()

    def claimed():
        return house.claim(runner)[0]

    def dispatched():
        return house.call(verbs.dispatch("default", "redis", 1, 60))[0]

    way = [
        (lambda: None, "waiting"),
        (lambda: house.call(verbs.resume([job], "ann")), "ready"),
        (lambda: house.call(verbs.hold([job], "ann")), "waiting"),
        (lambda: house.call(verbs.resume([job], "ann")), "ready"),
        (claimed, "running"),
        (lambda: house.call(verbs.reap(9, runner, [job])), "ready"),
        (dispatched, "dispatched"),
        (lambda: (house.pass_time(61), house.call(verbs.reap(9))), "ready"),
    ]
    for move, room in way:
        move()
        assert house.rooms(job) == {room}
    runner = house.runner()
    for outcome, room in (("snoozed", "scheduled"), ("retried", "scheduled"), ("failed", "dead")):
        house.finish(runner, claimed(), outcome=outcome, delay=5)
        assert house.rooms(job) == {room}
        house.pass_time(6)
        house.call(verbs.promote(9))
    house.call(verbs.retry([job], "ann"))
    assert house.rooms(job) == {"ready"}
    house.finish(runner, claimed())
    assert house.rooms(job) == set()


def test_a_move_that_fails_half_way_has_not_happened(house):
    """The statement is one: when it cannot enter the next room, it has not left the last."""
    runner = house.runner()
    job = house.running(runner)
    house.do("alter table leasehold.scheduled add constraint full_up check (false) not valid")
    with pytest.raises(psycopg.errors.CheckViolation, match="full_up"):
        house.rows(
            "select * from leasehold.release(%s, array[%s::bigint], array[%s], array[1], 9)",
            *(runner, job.bundle, job.id),
        )
    assert house.rooms(job.id) == {"running"}


def test_two_verbs_that_want_one_job_at_once_move_it_once(house):
    job, other = house.enqueue(), house.connect()
    with other.transaction():
        house.claim(house.runner(), by=other)
        for verb in (verbs.expire(9), verbs.dispatch("default", "redis", 9, 9)):
            assert house.call(verb) in (0, [])
    assert house.rooms(job) == {"running"}
