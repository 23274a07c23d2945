"""retire_rest: what arrived late in a detached day is kept."""

import pytest
from psycopg import errors as pg

from leasehold.errors import EnqueueRefused
from leasehold.store import verbs
from leasehold.store.detach import detach, drop

DAY = 86_400


def retired(house):
    """The tables of the oldest day past its keep, detached."""
    jobs, attempts = house.call(verbs.retire())
    assert detach(house.connection, "job", jobs)
    assert detach(house.connection, "attempt", attempts)
    return jobs, attempts


def written_late(house, runner, job, **said):
    """Its end comes from a transaction that began before its day was retired, and commits after."""
    house.pass_time(9 * DAY)
    drop(house.connection, retired(house))  # the day before, which every database has
    late = house.connect()
    late.execute("begin isolation level repeatable read")
    late.execute("select 1 from leasehold.house")  # it sees the floor as it was
    jobs, attempts = house.call(verbs.retire())
    assert house.finish(runner, job, by=late, **said) == {}
    assert late.execute("select tableoid::regclass::text from leasehold.attempt").fetchall() == [
        (attempts,)
    ]
    late.execute("commit")
    assert detach(house.connection, "job", jobs)
    assert detach(house.connection, "attempt", attempts)
    house.call(verbs.retire_rest(jobs, attempts))
    drop(house.connection, [jobs, attempts])


def test_an_end_that_was_written_after_the_copy_is_kept_too(house):
    runner = house.runner()
    job = house.running(runner, key="k")
    written_late(house, runner, job)
    assert house.history(job.id) == ["succeeded"]
    again = house.enqueue(key="k")  # its key is free
    assert house.state(again) == "ready"


def test_a_failed_run_that_was_written_after_the_copy_is_counted(house):
    runner = house.runner()
    job = house.running(runner)
    written_late(house, runner, job, outcome="retried", error={"type": "Boom", "message": "no"})
    assert house.history(job.id) == ["retried"]
    assert house.state(job.id) == "ready"


def test_only_the_tables_of_a_day_are_taken(house):
    with pytest.raises((EnqueueRefused, pg.Error), match="takes the tables of a day"):
        house.call(verbs.retire_rest("house", "runner"))
