"""enrol: a supervisor says that it is here."""

from leasehold.store import verbs


def test_a_worker_says_what_it_serves(house):
    worker = house.call(verbs.enrol(42, "host", "1.0", ["a", "b"], ["t"]))
    sql = "select pid, host, version, queues, tasks, stopping from leasehold.worker where id = %s"
    assert house.rows(sql, worker) == [(42, "host", "1.0", ["a", "b"], ["t"], False)]


def test_every_one_gets_a_number_of_its_own(house):
    assert house.worker() != house.worker()
