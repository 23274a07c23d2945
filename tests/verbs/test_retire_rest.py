"""retire_rest: what arrived late in a detached day is kept."""

import pytest
from psycopg import errors as pg

from leasehold.errors import EnqueueRefused
from leasehold.store import verbs
from leasehold.store.detach import detach

DAY = 86_400


def test_a_line_of_history_written_after_the_copy_is_kept_too(house):
    runner = house.runner()
    job = house.running(runner)
    house.pass_time(9 * DAY)
    late = house.connect()
    late.execute("begin isolation level repeatable read")
    late.execute("select 1 from leasehold.house")  # it sees the floor as it was
    jobs, attempts = house.call(verbs.retire())
    house.finish(runner, job, by=late)
    late.execute("commit")
    assert detach(house.connection, "job", jobs)
    assert detach(house.connection, "attempt", attempts)
    house.call(verbs.retire_rest(jobs, attempts))
    assert house.history(job.id) == ["succeeded"]


def test_only_the_tables_of_a_day_are_taken(house):
    with pytest.raises((EnqueueRefused, pg.Error), match="takes the tables of a day"):
        house.call(verbs.retire_rest("house", "runner"))
