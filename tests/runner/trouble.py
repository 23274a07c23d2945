"""A server in trouble, for as long as a block lasts."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from leasehold.store.connect import Connection


@contextmanager
def refused(house, verb: str, state: str) -> Iterator[None]:
    """Every call of this verb is answered with this SQLSTATE."""
    found = (
        "select pg_get_functiondef(oid) from pg_proc where pronamespace = 'leasehold'::regnamespace"
    )
    whole = house.value(f"{found} and proname = %s", verb)
    raises = f"$function$ begin raise exception using errcode = '{state}'; end $function$"
    broken = re.sub(r"\$function\$.*\$function\$", lambda _: raises, whole, flags=re.DOTALL)
    house.do(re.sub(r"LANGUAGE \w+", "LANGUAGE plpgsql", broken))
    try:
        yield
    finally:
        house.do(whole)


@contextmanager
def locked(house, table: str) -> Iterator[Connection]:
    """Only the session it answers reads and writes this table."""
    with (other := house.connect()).transaction():
        other.execute(f"lock table leasehold.{table} in access exclusive mode")
        yield other


def waits(house, verb: str) -> bool:
    """A call of this verb has begun and waits for somebody's lock."""
    sql = "select count(*) from pg_stat_activity where datname = current_database() "
    return house.value(
        f"{sql} and wait_event_type = 'Lock' and query like %s", f"%leasehold.{verb}(%"
    )
