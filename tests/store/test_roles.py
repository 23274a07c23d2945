"""What each role may do, read from the catalogue and tried."""

import psycopg
import pytest

from leasehold.errors import AccessRefused
from leasehold.store import verbs
from leasehold.store.drivers.psycopg import run_sync
from leasehold.store.refusal import explained

ROLES = ("leasehold_producer", "leasehold_runner", "leasehold_operator", "leasehold_reader")
PINNED = "select proname from pg_proc where pronamespace = 'leasehold'::regnamespace and prosecdef"


@pytest.fixture
def as_role(house):
    """Calls as a member of one of our roles."""
    session = house.connect()

    def call(role, call):
        session.execute(f"set role {role}")
        try:
            return run_sync(session, call)
        finally:
            session.execute("reset role")

    return call


def refused(as_role, role, call):
    with pytest.raises(AccessRefused):
        as_role(role, call)


def test_every_function_that_runs_as_its_owner_pins_its_search_path(house):
    pin = "%%search_path=pg_catalog, pg_temp%%"
    loose = f"{PINNED} and not coalesce(proconfig::text like '{pin}', false)"
    assert house.rows(loose) == []


def test_nothing_is_left_to_public(house):
    open_functions = """
      select p.proname from pg_proc p where p.pronamespace = 'leasehold'::regnamespace
         and has_function_privilege('public', p.oid, 'execute')"""
    open_tables = """
      select c.relname from pg_class c where c.relnamespace = 'leasehold'::regnamespace
         and c.relkind in ('r', 'p', 'v', 'S') and c.relname <> 'test_clock'
         and exists (select from aclexplode(c.relacl) a where a.grantee = 0)"""
    assert house.rows(open_functions) == []
    assert house.rows(open_tables) == []


def test_a_producer_enqueues_by_insert_and_by_the_verb_and_can_do_nothing_else(house, as_role):
    assert len(as_role("leasehold_producer", verbs.enqueue('[{"task": "t", "key": "k"}]'))) == 1
    session = house.connect()
    session.execute("set role leasehold_producer")
    session.execute("insert into leasehold.job (task) values ('t')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("select payload from leasehold.job")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("insert into leasehold.job (task, enqueued_at) values ('t', now())")
    session.execute("reset role")
    refused(as_role, "leasehold_producer", verbs.cancel([], "me"))
    refused(as_role, "leasehold_producer", verbs.reap(1))


def test_a_runner_works_and_may_not_do_what_people_do(house, as_role):
    house.enqueue()
    worker = as_role("leasehold_runner", verbs.enrol(1, "h", "0", ["default"], []))
    assert isinstance(worker, int)
    refused(as_role, "leasehold_runner", verbs.retry([], "me"))
    refused(as_role, "leasehold_runner", verbs.enqueue('[{"task": "t"}]'))


def test_an_operator_may_not_work(house, as_role):
    job = house.enqueue()
    assert as_role("leasehold_operator", verbs.cancel([job], "me")) == [(job, "cancelled")]
    refused(as_role, "leasehold_operator", verbs.enrol(1, "h", "0", [], []))


def test_a_reader_only_looks(house, as_role):
    session = house.connect()
    session.execute("set role leasehold_reader")
    session.execute("select * from leasehold.jobs")
    session.execute("reset role")
    refused(as_role, "leasehold_reader", verbs.cancel([], "me"))


def test_the_clock_can_be_moved_by_no_setting(house):
    """A session's own setting must not reap everybody else."""
    body = "select prosrc from pg_proc where oid = 'leasehold.now()'::regprocedure"
    assert "current_setting" not in house.value(body)


def test_of_every_function_that_is_granted_a_refusal_names_a_role_that_has_it(house):
    granted = house.rows(
        "select p.proname, array_agg(r.rolname::text) from pg_proc p cross join pg_roles r "
        "where p.pronamespace = 'leasehold'::regnamespace and r.rolname like 'leasehold\\_%' "
        "and has_function_privilege(r.oid, p.oid, 'execute') group by 1"
    )
    assert len(granted) > 40
    for name, roles in granted:
        error = explained("42501", f"permission denied for function {name}")
        assert error.role in roles, name
