"""What users get for their tests: a fresh database, time moved by hand, nothing left behind."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from leasehold.store.connect import connect_sync
from leasehold.testing import Clock, Databases

STRANGER = """
import pytest
from leasehold.store.connect import connect_sync

@pytest.mark.parametrize("n", range(4))
def test_mine(leasehold_dsn, leasehold_clock, n):
    with connect_sync(leasehold_dsn) as c:
        c.execute("insert into leasehold.job (task, delay) values ('t', '1 hour')")
        leasehold_clock.advance(3601)
        assert c.execute("select * from leasehold.promote(9)").fetchone()[0] == 1
        print(c.info.host)
"""


def pytest_in(folder, *options):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_strangers_project_gets_a_database_for_each_test(tmp_path):
    (tmp_path / "test_mine.py").write_text(STRANGER)
    done = pytest_in(tmp_path, "-rP")
    assert "4 passed" in done.stdout, done.stdout + done.stderr
    (socket,) = {line for line in done.stdout.splitlines() if line.endswith("/socket")}
    assert not Path(socket).exists()


def test_the_workers_of_xdist_share_one_server(tmp_path):
    (tmp_path / "test_mine.py").write_text(STRANGER)
    done = pytest_in(tmp_path, "-rP", "-n2")
    assert "4 passed" in done.stdout, done.stdout + done.stderr
    assert len({line for line in done.stdout.splitlines() if line.endswith("/socket")}) == 1


def test_a_project_that_asks_for_none_of_it_starts_nothing(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "import sys\ndef test_mine(): assert 'leasehold.testing.database' not in sys.modules\n"
    )
    assert "1 passed" in pytest_in(tmp_path).stdout


def test_steps_without_an_app_say_whose_fixture_is_missing(tmp_path):
    (tmp_path / "test_mine.py").write_text("def test_mine(leasehold_steps): pass\n")
    assert "a fixture leasehold_app has to return it" in pytest_in(tmp_path).stdout


def test_databases_know_nothing_of_each_other(leasehold_databases: Databases, leasehold_dsn):
    other = leasehold_databases.make()
    with connect_sync(leasehold_dsn) as a, connect_sync(other) as b:
        a.execute("insert into leasehold.job (task) values ('t')")
        assert b.execute("select from leasehold.job").rowcount == 0
    leasehold_databases.drop(other)


def test_time_passes_by_itself_and_by_hand(leasehold_clock: Clock):
    first = leasehold_clock.now()
    second = leasehold_clock.now()
    leasehold_clock.advance(timedelta(hours=1))
    assert first < second < second + timedelta(hours=1) <= leasehold_clock.now()


def test_the_clock_says_utc(leasehold_clock: Clock):
    leasehold_clock.freeze()
    assert leasehold_clock.now().tzinfo is UTC
    assert abs(leasehold_clock.now() - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_frozen_clock_moves_by_hand_alone(leasehold_clock: Clock):
    leasehold_clock.freeze()
    leasehold_clock.freeze()
    before = leasehold_clock.now()
    leasehold_clock.advance(60)
    assert leasehold_clock.now() == before + timedelta(seconds=60)
    leasehold_clock.thaw()
    leasehold_clock.thaw()
    assert before < leasehold_clock.now() < before + timedelta(seconds=70)


async def test_an_event_loop_is_not_held_up(leasehold_clock: Clock):
    before = leasehold_clock.now()
    await leasehold_clock.pass_time(60)
    assert leasehold_clock.now() >= before + timedelta(seconds=60)


def test_sessions_that_are_open_see_the_time_move(leasehold_dsn, leasehold_clock: Clock):
    with connect_sync(leasehold_dsn) as connection, connection.transaction():
        connection.execute("insert into leasehold.job (task) values ('t')")
        leasehold_clock.advance(60)
        connection.execute("insert into leasehold.job (task) values ('t')")
        sql = "select max(enqueued_at) - min(enqueued_at) from leasehold.job"
        assert connection.execute(sql).fetchone()[0] >= timedelta(seconds=60)
