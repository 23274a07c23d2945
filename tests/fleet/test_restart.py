"""Postgres goes away and comes back under a working fleet: everything goes on, nothing is lost."""

import pytest

from fleet.crew import Crew, until
from leasehold import App
from leasehold.store.connect import connect_sync
from leasehold.store.embedded import Server
from leasehold.store.migrate import migrate


@pytest.fixture
def server(tmp_path_factory):
    """One of its own: nobody else's may be killed."""
    server = Server(tmp_path_factory.mktemp("pg") / "home", settings={"shared_buffers": "32MB"})
    dsn = server.start()
    with connect_sync(dsn) as connection:
        migrate(connection)
    yield server, dsn
    server.leave()


def test_a_crash_of_postgres_loses_no_job_and_stops_no_worker(server, tmp_path):
    database, dsn = server
    crew = Crew(tmp_path, dsn)
    worker = crew.worker("--runners", "2")
    with App(dsn) as app:
        add = app.task(named_add, name="add")
        handles = add.enqueue_many_sync({"a": n, "b": 0} for n in range(3_000))
        until(lambda: attempts(dsn) > 100)
        database.kill_hard()
        assert database.start() == dsn
        handles += [add.enqueue_sync(3_000 + n, 0) for n in range(10)]
        until(lambda: attempts(dsn) == 3_010, seconds=60)
        assert [handle.result_sync(timeout=30) for handle in handles[-3:]] == [3_007, 3_008, 3_009]
    assert worker.process.poll() is None
    crew.end()


def attempts(dsn):
    with connect_sync(dsn) as connection:
        sql = "select count(*), count(distinct job_id) from leasehold.attempt"
        every, distinct = connection.execute(f"{sql} where outcome = 'succeeded'").fetchone()
    assert every == distinct
    return distinct


def named_add(a: int, b: int) -> int:
    return a + b
