"""Doctor finds what is wrong, and nothing where all is well."""

import time
from datetime import timedelta

import pytest

from leasehold.operate import check_server
from leasehold.operate.ask import on
from leasehold.operate.doctor import examine
from leasehold.operate.repair import repair
from leasehold.store import verbs
from leasehold.store.connect import connect_sync

# The server of the tests is a throw-away one, and says so; a template has few days ahead.
USUAL = {
    "setting_fsync", "setting_full_page_writes", "setting_autovacuum", "idle_unbounded",
    "days_missing", "connections_short",
}  # fmt: skip


@pytest.fixture
def connection(leasehold_dsn):
    with connect_sync(leasehold_dsn) as connection:
        yield connection


@pytest.fixture
def found(connection):
    """The codes of what doctor finds beyond the usual."""

    def found():
        codes = {finding.code for finding in examine(connection, on(connection), time.time)}
        return codes - USUAL

    return found


def test_a_fresh_house_is_well(found):
    assert found() == set()


def test_settings_that_lose_jobs_are_wrong(connection):
    found = {f.code: f for f in examine(connection, on(connection), time.time)}
    assert found["setting_fsync"].severity == "wrong"
    assert "lose acknowledged jobs" in found["setting_fsync"].why


def test_a_missing_and_a_newer_schema_end_the_examination(connection, found):
    connection.execute("insert into leasehold.migration values (9999, '9999_future', '')")
    assert found() == {"schema_newer"}
    connection.execute("drop schema leasehold cascade")
    assert found() == {"schema_missing"}


def test_changed_functions_and_tables_of_another_text_are_seen(connection, found):
    connection.execute("update leasehold.migration set digest = 'x'")
    connection.execute(
        "create or replace function leasehold.id_time(p_id uuid) returns timestamptz "
        "language sql immutable as $$ select null::timestamptz $$"
    )
    assert found() == {"migration_differs", "functions_differ"}


def test_rights_of_everybody_are_wrong_and_mended(connection, found):
    connection.execute("grant select on leasehold.job to public")
    assert found() == {"public_rights"}
    assert repair(connection, examine(connection, on(connection), time.time))
    assert found() == set()


def test_a_job_past_the_trigger_is_found(connection, found):
    connection.execute("set session_replication_role = replica")
    connection.execute(
        "insert into leasehold.job (id, task, enqueued_at) values "
        "(leasehold.id_floor(now() - interval '5 minutes'), 't', now() - interval '5 minutes')"
    )
    assert found() == {"strays"}


def test_a_queue_nobody_serves_is_wrong(connection, found):
    connection.execute("insert into leasehold.job (task, queue) values ('t', 'mail')")
    assert found() == {"queue_unserved"}


def test_workers_without_a_leader_are_wrong(connection, found):
    ask = on(connection)
    worker = ask(verbs.enrol(1, "host", "0", ["a"], ["t"]))
    ask(verbs.hire(worker, 1))
    assert found() == {"no_leader"}
    ask(verbs.lead(worker))
    assert found() == set()


def test_what_a_dead_runner_still_has_is_found(connection, found):
    ask = on(connection)
    connection.execute("insert into leasehold.job (task) values ('t')")
    runner, _ = ask(verbs.hire(ask(verbs.enrol(1, "host", "0", ["default"], ["t"])), 1))
    ask(verbs.claim(runner, ["default"], None, 1, 1))
    ask(verbs.lead(1))
    connection.execute(
        "update leasehold.runner set dead_at = now() - interval '1 minute', "
        "expires_at = now() - interval '1 minute'"
    )
    assert found() == {"lost_holder"}


def test_a_transaction_that_was_forgotten_is_named_with_its_query(connection, leasehold_dsn):
    with connect_sync(leasehold_dsn) as other, other.transaction():
        other.execute("select 'the culprit'")
        pin = {
            "kind": "session", "name": str(other.info.backend_pid), "role": "me", "program": "psql",
            "seconds": 900.0, "age": 5, "query": "select 'the culprit'",
        }  # fmt: skip
        [finding] = check_server._pin(pin)
    assert finding.code == "xmin_pinned"
    assert "select 'the culprit'" in finding.what
    assert f"pg_terminate_backend({pin['name']})" in finding.do


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("slot", "pg_drop_replication_slot"),
        ("prepared", "rollback prepared"),
        ("standby", "standby"),
    ],
)
def test_every_culprit_that_holds_back_vacuum_has_its_cure(kind, said):
    pin = {
        "kind": kind, "name": "x", "role": "me", "program": "inactive", "query": None,
        "seconds": timedelta(hours=1).total_seconds(), "age": 2_000_000,
    }  # fmt: skip
    [finding] = check_server._pin(pin)
    assert said in finding.do


def test_a_real_session_that_pins_old_rows_is_seen(connection, leasehold_dsn, monkeypatch):
    monkeypatch.setattr(check_server, "PINNED", -1.0)
    with connect_sync(leasehold_dsn) as other:
        other.execute("begin isolation level repeatable read")
        other.execute("select 1")
        pins = [
            f for f in examine(connection, on(connection), time.time) if f.code == "xmin_pinned"
        ]
        assert any(f"pid {other.info.backend_pid} " in f.what for f in pins)


def test_a_clock_that_is_off_is_named(connection):
    found = examine(connection, on(connection), lambda: time.time() - 60)
    [skew] = [finding for finding in found if finding.code == "clock_skew"]
    assert "60.0 s ahead of" in skew.what
