"""The schema: installed once, brought up to date, refused where it is newer."""

import threading

import psycopg
import pytest

from leasehold.errors import SchemaMissing, SchemaNewer
from leasehold.store import connect, migrate, verbs
from leasehold.store.drivers.psycopg import run_sync


@pytest.fixture
def bare(leasehold_dsn):
    """A database without a schema."""
    with connect.connect_sync(leasehold_dsn) as connection:
        connection.execute("drop schema leasehold cascade")
        yield connection


def enqueue(connection):
    return run_sync(connection, verbs.enqueue('[{"task": "t"}]'))


def test_migrate_makes_an_empty_database_take_jobs(bare):
    assert migrate.migrate(bare) == [script.name for script in migrate.migrations()]
    assert len(enqueue(bare)) == 1


def test_a_second_migrate_changes_no_table_and_keeps_the_jobs(bare):
    migrate.migrate(bare)
    enqueue(bare)
    assert migrate.migrate(bare) == []
    assert bare.execute("select count(*) from leasehold.job").fetchone() == (1,)


def test_two_at_once_do_it_once(bare, leasehold_dsn):
    answers = []

    def go():
        with connect.connect_sync(leasehold_dsn) as connection:
            answers.append(migrate.migrate(connection))

    threads = [threading.Thread(target=go) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(len, answers)) == [0, len(migrate.migrations())]


def test_the_printed_script_does_the_same_however_often_it_is_run(bare):
    for _ in range(2):
        bare.execute(migrate.script().encode())
        assert migrate.pending(bare) == []
        assert len(enqueue(bare)) == 1
    assert bare.execute("select count(*) from leasehold.job").fetchone() == (2,)


def test_the_printed_script_leaves_a_migrated_database_as_it_is(bare):
    migrate.migrate(bare)
    enqueue(bare)
    before = bare.execute("select * from leasehold.migration").fetchall()
    bare.execute(migrate.script().encode())
    assert bare.execute("select * from leasehold.migration").fetchall() == before
    assert bare.execute("select count(*) from leasehold.job").fetchone() == (1,)


def test_a_printed_script_that_fails_leaves_nothing_behind(bare, monkeypatch):
    broken = [*migrate.code(), migrate.Script("broken", "select no_such_function();")]
    monkeypatch.setattr(migrate, "code", lambda: broken)
    with pytest.raises(psycopg.errors.UndefinedFunction):
        bare.execute(migrate.script().encode())
    bare.execute("rollback")
    assert bare.execute("select to_regnamespace('leasehold')").fetchone() == (None,)


def test_a_printed_script_of_an_older_release_touches_nothing(bare):
    migrate.migrate(bare)
    bare.execute("insert into leasehold.migration (number, name, digest) values (9999, 'x', '')")
    with pytest.raises(psycopg.errors.RaiseException, match="9999"):
        bare.execute(migrate.script().encode())
    bare.execute("rollback")


def test_the_text_of_a_migration_ends_no_quote_of_the_script():
    assert [m.name for m in migrate.migrations() if "$migration$" in m.text] == []


def test_without_a_schema_the_error_names_the_command(bare):
    with pytest.raises(SchemaMissing, match="leasehold migrate"):
        enqueue(bare)


def test_a_schema_newer_than_this_release_is_refused_by_name(bare):
    migrate.migrate(bare)
    bare.execute("insert into leasehold.migration (number, name, digest) values (9999, 'x', '')")
    with pytest.raises(SchemaNewer, match="9999"):
        migrate.migrate(bare)


def test_a_migrate_that_is_cut_off_leaves_nothing_behind(bare, monkeypatch):
    broken = [*migrate.code(), migrate.Script("broken", "select no_such_function()")]
    monkeypatch.setattr(migrate, "code", lambda: broken)
    with pytest.raises(psycopg.errors.UndefinedFunction):
        migrate.migrate(bare)
    found = bare.execute("select to_regclass('leasehold.job')").fetchone()
    assert found == (None,)


def test_it_needs_no_superuser(bare, leasehold_dsn):
    """A managed Postgres gives an owner of the database, no more."""
    name = bare.execute("select current_database()").fetchone()[0]
    bare.execute("drop role if exists plain_owner")
    bare.execute("create role plain_owner createrole")
    try:
        bare.execute(f'alter database "{name}" owner to plain_owner')
        bare.execute("set role plain_owner")
        migrate.migrate(bare)
        assert len(enqueue(bare)) == 1
    finally:
        bare.execute("reset role")
        bare.execute("reassign owned by plain_owner to current_user; drop owned by plain_owner")
        bare.execute("drop role plain_owner")
