"""11. Database time decides facts; a client's clock only measures durations."""

import re
from pathlib import Path

from leasehold.store import verbs

SQL = Path(verbs.__file__).parent / "sql"
OTHER_CLOCKS = re.compile(
    r"(?<!leasehold\.)\bnow\(\)|current_timestamp|localtimestamp|statement_timestamp|"
    r"transaction_timestamp|clock_timestamp|current_date|timeofday",
    re.IGNORECASE,
)


def test_the_sql_asks_one_clock():
    """What is read of the server's own statistics has the server's own times."""
    paths = [path for part in ("migrations", "parts", "verbs") for path in (SQL / part).glob("*")]
    code = {path.name: re.sub(r"--.*", "", path.read_text()) for path in paths}
    assert {name for name, text in code.items() if OTHER_CLOCKS.search(text)} == set()


def test_time_goes_on_within_a_transaction(house):
    other = house.connect()
    with other.transaction():
        first, second = (house.enqueue(by=other) for _ in range(2))
    turns = [house.entry("ready", job)["turn"] for job in (first, second)]
    assert turns[0] < turns[1]


def test_all_facts_carry_the_time_of_the_database(house):
    house.clock.freeze()
    house.pass_time(3600)
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job)
    facts = (
        *("job enqueued_at", "attempt claimed_at", "attempt ended_at"),
        *("runner started_at", "worker beat_at"),
    )
    for table, column in map(str.split, facts):
        assert house.value(f"select {column} = leasehold.now() from leasehold.{table}"), table


def test_an_id_is_as_old_as_its_job(house):
    house.clock.freeze()
    house.pass_time(-600)
    house.enqueue()
    sql = "select abs(extract(epoch from leasehold.id_time(id) - enqueued_at)) from leasehold.job"
    assert house.value(sql) < 0.001
