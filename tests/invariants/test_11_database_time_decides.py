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
    texts = {path.name: path.read_text() for path in SQL.rglob("*.sql") if path.name != "now.sql"}
    code = {name: re.sub(r"--.*", "", text) for name, text in texts.items()}
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
    sql = (
        "select count(distinct x) = 1 and min(x) = leasehold.now() from ("
        "select enqueued_at as x from leasehold.job union all select claimed_at from leasehold.attempt "
        "union all select ended_at from leasehold.attempt union all select started_at from leasehold.runner) s"
    )
    assert house.value(sql)


def test_an_id_is_as_old_as_its_job(house):
    house.clock.freeze()
    house.pass_time(-600)
    house.enqueue()
    sql = "select abs(extract(epoch from leasehold.id_time(id) - enqueued_at)) from leasehold.job"
    assert house.value(sql) < 0.001
