"""How the house stands, also where a room holds more than anybody counts."""

import pytest

from leasehold.operate import status as module
from leasehold.operate.ask import on
from leasehold.operate.status import status
from leasehold.store import verbs
from leasehold.store.connect import connect_sync


@pytest.fixture
def now(house):
    return lambda: status(on(house.connection))


def queue(found, name):
    return next(queue for queue in found.queues if queue.name == name)


def test_rooms_are_counted_by_queue(house, now):
    house.enqueue_many(3, queue="a")
    house.enqueue(queue="a", delay="1 hour")
    house.enqueue(queue="a", hold="x")
    house.dead(queue="b")
    house.running(queue="b")
    found = now()
    a, b = queue(found, "a"), queue(found, "b")
    assert [a[room].jobs for room in module.ROOMS] == [3, 1, 1, 0, 0, 0]
    assert [b[room].jobs for room in module.ROOMS] == [0, 0, 0, 0, 1, 1]
    assert all(depth.exact for depth in a.rooms.values())


def test_due_jobs_count_as_waiting_for_a_worker(house, now):
    house.enqueue(queue="a", delay="5 seconds")
    assert now().stranded == []
    house.pass_time(10)
    assert queue(now(), "a").due == 1
    assert now().stranded == ["a"]


def test_a_long_line_is_estimated_and_a_short_one_beside_it_is_exact(leasehold_dsn, monkeypatch):
    monkeypatch.setattr(module, "EXACT", 1_000)
    with connect_sync(leasehold_dsn) as connection:
        for name, jobs in (("long", 30_000), ("short", 3)):
            connection.execute(
                "insert into leasehold.job (task, queue) "
                "select 't', %s from generate_series(1, %s)",
                (name, jobs),
            )
        found = status(on(connection))
    assert queue(found, "short")["ready"].jobs == 3
    assert queue(found, "short")["ready"].exact
    assert not queue(found, "long")["ready"].exact
    assert 15_000 < queue(found, "long")["ready"].jobs < 60_000


def test_workers_are_alive_while_a_runner_has_its_lease(house, now):
    worker = house.worker(queues=["a"])
    runner = house.runner(worker)
    house.running(runner, queue="a")
    [found] = now().workers
    assert found.alive
    assert found.held == 1
    assert queue(now(), "a").workers == 1
    house.pass_time(31)
    assert not now().workers[0].alive
    assert queue(now(), "a").workers == 0


def test_rates_come_from_the_tally_and_what_is_not_folded_yet(house, now):
    worker = house.worker()
    runner = house.runner(worker)
    ended = [{"queue": "a", "task": "t", "outcome": "succeeded", "n": 4, "run_ms": 8, "wait_ms": 1}]
    house.call(verbs.beat(worker, [{"id": runner, "bundles": []}], ended))
    house.call(verbs.fold(100))
    house.call(verbs.beat(worker, [{"id": runner, "bundles": []}], ended))
    [rate] = now().rates
    assert (rate.queue, rate.outcome, rate.n, rate.run_ms) == ("a", "succeeded", 8, 16)


def test_who_leads_is_known(house, now):
    assert now().leader is None
    worker = house.worker()
    house.call(verbs.lead(worker))
    assert now().leader.worker == worker
    assert now().leader.ticking
    house.pass_time(60)
    assert not now().leader.ticking
