"""1. A committed enqueue is never lost; an uncommitted one is never seen."""

import shutil
import tempfile
from pathlib import Path

from leasehold.store.connect import connect_sync
from leasehold.store.embedded import Server
from leasehold.store.migrate import migrate


def test_uncommitted_is_not_seen_and_committed_is_not_lost(house):
    writer, runner = house.connect(), house.runner()
    with writer.transaction():
        job = house.enqueue(by=writer)
        assert house.claim(runner) == []
    assert house.claim(runner)[0].id == job


def test_a_job_lives_and_dies_with_the_rows_beside_it(house):
    house.do("create table orders (id int)")
    writer = house.connect()
    for keep in (True, False):
        with writer.transaction(force_rollback=not keep):
            writer.execute("insert into orders values (1)")
            house.enqueue(by=writer)
    assert (house.count("job"), house.value("select count(*) from orders")) == (1, 1)


def test_a_session_that_is_cut_off_leaves_nothing(house):
    writer = house.connect()
    writer.execute("begin")
    house.enqueue(by=writer)
    house.value("select pg_terminate_backend(%s, 5000)", writer.info.backend_pid)
    assert (house.count("job"), house.count("ready")) == (0, 0)


def test_the_server_dies_the_moment_after_the_commit():
    """A server of its own: that of the other tests has no fsync, and is wanted alive."""
    home = Path(tempfile.mkdtemp(prefix="leasehold-")) / "home"
    server = Server(home)
    try:
        with connect_sync(server.start()) as connection:
            migrate(connection)
            connection.execute("insert into leasehold.job (task) values ('t')")
            server.kill_hard()
        with connect_sync(server.start()) as connection:
            ready = connection.execute("select task from leasehold.ready").fetchall()
        assert ready == [("t",)]
    finally:
        server.leave()
        for folder in {server.place.folder, home.parent}:
            shutil.rmtree(folder)
