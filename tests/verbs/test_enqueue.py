"""enqueue: nothing → ready, scheduled or waiting; whatever inserts into leasehold.job enqueues."""

import json
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from leasehold.errors import EnqueueRefused
from leasehold.store import verbs
from testhouse import Aside


def enqueue(house, *jobs, by=None):
    return house.call(verbs.enqueue(json.dumps([{"task": "t", **job} for job in jobs])), by)


# One row, many rows, any way in


def test_task_alone_is_enough(house):
    house.do("insert into leasehold.job (task) values ('mail')")
    job = house.claim(house.runner())[0]
    assert (job.task, job.queue, job.payload, job.priority) == ("mail", "default", {}, 100)


def test_the_function_stores_every_option(house):
    said = {
        "id": str(house.value("select leasehold.new_id()")),
        "queue": "q",
        "payload": {"n": 1},
        "priority": 5,
        "timeout": 2.5,
        "max_attempts": 3,
        "name": "invoice-7",
        "tenant": "acme",
        "group": "g",
        "tags": ["a", "b"],
        "headers": {"h": 1},
        "key": "k",
        "deadline": "2999-01-01T00:00:00+00:00",
    }
    (stored,) = enqueue(house, said)
    row = house.value("select to_jsonb(j) from leasehold.job j where id = %s", stored.id)
    assert {name: row[name] for name in said} == said


def test_the_function_answers_ids_in_the_order_given(house):
    stored = enqueue(house, *({"name": str(n)} for n in range(50)))
    names = dict(house.rows("select id, name from leasehold.job"))
    assert [names[one.id] for one in stored] == [str(n) for n in range(50)]


def test_a_job_that_brings_its_id_is_stored_once(house):
    job = {"id": str(house.value("select leasehold.new_id()"))}
    assert enqueue(house, job)[0].id == enqueue(house, job)[0].id == UUID(job["id"])
    assert house.count("job") == 1


def test_a_repeat_beside_a_new_job_stores_the_new_one(house):
    known = {"id": str(house.value("select leasehold.new_id()"))}
    enqueue(house, known)
    assert [house.state(one.id) for one in enqueue(house, known, {})] == ["ready", "ready"]
    assert house.count("job") == 2


def test_deadline_in_counts_from_the_statement(house):
    (stored,) = enqueue(house, {"deadline_in": 60})
    sql = "select deadline - enqueued_at from leasehold.job where id = %s"
    assert abs(house.value(sql, stored.id) - timedelta(seconds=60)) < timedelta(seconds=1)


def test_many_rows_in_one_insert(house):
    jobs = house.enqueue_many(100)
    assert house.ready() == jobs


def test_copy(house):
    with house.connection.cursor().copy("copy leasehold.job (task, queue) from stdin") as copy:
        for n in range(10):
            copy.write_row((f"t{n}", "default"))
    assert len(house.claim(house.runner(), 99)) == 10


def test_insert_on_conflict_do_nothing_enqueues_only_what_it_stored(house):
    job = house.enqueue()
    house.do("insert into leasehold.job (id, task) values (%s, 't') on conflict do nothing", job)
    assert house.ready() == [job]


def test_insert_select_that_finds_nothing(house):
    house.do("insert into leasehold.job (task) select 't' where false")
    assert house.count("job") == 0


def test_two_statements_of_one_with_query(house):
    house.do(
        "with a as (insert into leasehold.job (task, queue) values ('t', 'a')), "
        "b as (insert into leasehold.job (task, queue) values ('t', 'b')) select"
    )
    assert len(house.ready("a", "b")) == 2


# Where it goes


def test_later_is_scheduled(house):
    by_delay = house.enqueue(delay=timedelta(minutes=1))
    by_time = house.enqueue(run_at=house.clock.now() + timedelta(hours=1))
    assert house.rooms(by_delay) == house.rooms(by_time) == {"scheduled"}


def test_a_due_time_in_the_past_is_now(house):
    job = house.enqueue(run_at=house.clock.now() - timedelta(hours=1))
    assert house.rooms(job) == {"ready"}


def test_held_waits_for_a_person(house):
    job = house.enqueue(hold="not before Ann agrees")
    assert house.rooms(job) == {"waiting"}
    assert house.entry("waiting", job)["note"] == "not before Ann agrees"


def test_rows_of_one_insert_go_each_its_own_way(house):
    now, later, held = house.enqueue_all(
        [
            {"delay": None, "hold": None},
            {"delay": timedelta(9), "hold": None},
            {"delay": None, "hold": "x"},
        ]
    )
    assert [house.state(job) for job in (now, later, held)] == ["ready", "scheduled", "waiting"]


# Transactions


def test_a_rolled_back_enqueue_never_was(house):
    other = house.connect()
    with other.transaction(force_rollback=True):
        job = house.enqueue(by=other)
        assert house.claim(house.runner()) == []
    assert (house.rooms(job), house.count("job")) == (set(), 0)


def test_a_savepoint_rolled_back_takes_its_jobs_with_it(house):
    other = house.connect()
    with other.transaction():
        stays = house.enqueue(by=other)
        with other.transaction(force_rollback=True):
            house.enqueue(by=other)
    assert house.ready() == [stays]


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_at_stricter_isolation(house, level):
    other = house.connect()
    with other.transaction():
        other.execute(f"set transaction isolation level {level}")
        other.execute("select count(*) from leasehold.job")
        house.enqueue_many(2, key=None)
        job = house.enqueue(by=other)
        keyed = house.enqueue(key="k", by=other)
    assert {job, keyed} < set(house.ready())


def test_a_serializable_enqueue_is_not_failed_by_claims_beside_it(house):
    other, runner = house.connect(), house.runner()
    house.enqueue_many(4)
    with other.transaction():
        other.execute("set transaction isolation level serializable")
        house.enqueue(by=other)
        house.finish(runner, *house.claim(runner, 2))
        house.enqueue(by=other)
    assert len(house.ready()) == 4


def test_at_repeatable_read_it_never_enters_a_segment_sealed_meanwhile(house):
    other = house.connect()
    with other.transaction():
        other.execute("set transaction isolation level repeatable read")
        other.execute("select count(*) from leasehold.ready")
        for _ in range(2):
            house.call(verbs.rotate(0))
        job = house.enqueue(by=other)
    sql = "select s.sealed from leasehold.ready r join leasehold.segment s on s.number = r.segment"
    assert house.value(f"{sql} where job_id = %s", job) is False


def test_in_a_prepared_transaction(house):
    other = house.connect()
    other.execute("begin")
    job = house.enqueue(by=other)
    other.execute("prepare transaction 'p'")
    assert house.claim(house.runner()) == []
    other.execute("commit prepared 'p'")
    assert house.claim(house.runner())[0].id == job


# Keys


def test_a_second_job_with_a_live_key_is_its_twin_and_gets_no_room(house):
    first = house.enqueue(key="k")
    twin = house.enqueue(key="k")
    assert (house.rooms(first), house.rooms(twin)) == ({"ready"}, set())
    sql = "select duplicate_of from leasehold.job where id = %s"
    assert house.value(sql, twin) == first
    assert house.state(twin) is None


def test_the_function_says_of_whom_it_is_a_twin(house):
    (first,) = enqueue(house, {"key": "k"})
    (twin,) = enqueue(house, {"key": "k"})
    assert (first.duplicate_of, twin.duplicate_of) == (None, first.id)


def test_twins_in_one_insert(house):
    jobs = house.enqueue_all([{"key": "k"}, {"key": "k"}, {"key": "l"}])
    assert sorted(len(house.rooms(job)) for job in jobs) == [0, 1, 1]


def test_one_key_for_each_task_and_tenant(house):
    for columns in ({}, {"task": "u"}, {"tenant": "acme"}, {"tenant": "acme", "task": "u"}):
        assert house.rooms(house.enqueue(key="k", **columns)) == {"ready"}


@pytest.mark.parametrize("later", [{"delay": timedelta(9)}, {"hold": "x"}])
def test_a_key_is_held_in_every_room(house, later):
    house.enqueue(key="k", **later)
    assert house.rooms(house.enqueue(key="k")) == set()


def test_an_ended_holder_gives_way(house):
    runner = house.runner()
    house.finish(runner, house.running(runner, key="k"))
    again = house.enqueue(key="k")
    assert house.rooms(again) == {"ready"}


def test_a_failed_holder_gives_way(house):
    house.dead(key="k")
    assert house.rooms(house.enqueue(key="k")) == {"ready"}


def test_of_two_at_once_the_second_waits_and_becomes_the_twin(house):
    other = house.connect()
    with other.transaction():
        first = house.enqueue(key="k", by=other)
        second = house.aside(lambda c: house.enqueue(key="k", by=c))
        second.blocked()
    assert (house.rooms(first), house.rooms(second.result())) == ({"ready"}, set())


def test_of_two_at_once_the_second_gets_the_key_when_the_first_rolls_back(house):
    other = house.connect()
    with other.transaction(force_rollback=True):
        house.enqueue(key="k", by=other)
        second = house.aside(lambda c: house.enqueue(key="k", by=c))
        second.blocked()
    assert house.rooms(second.result()) == {"ready"}


def test_two_that_want_an_ended_holders_key_at_once(house):
    runner = house.runner()
    house.finish(runner, house.running(runner, key="k"))
    other = house.connect()
    with other.transaction():
        first = house.enqueue(key="k", by=other)
        second = house.aside(lambda c: house.enqueue(key="k", by=c))
        second.blocked()
    assert (house.rooms(first), house.rooms(second.result())) == ({"ready"}, set())


def test_many_keys_in_opposite_orders_do_not_deadlock(house):
    keys = [{"key": str(n)} for n in range(20)]
    both = [
        Aside(house, house.connect(), lambda c, k=k: house.enqueue_all(k, by=c))
        for k in (keys, keys[::-1])
    ]
    jobs = [job for one in both for job in one.result()]
    assert sum(len(house.rooms(job)) for job in jobs) == 20


# What is refused, with nothing stored


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": UUID("9b2f0f52-5b1c-4a6e-8f5e-0a3d3c2b1a00")}, "id"),
        ({"queue": ""}, "queue: takes 1 to 63 bytes"),
        ({"queue": "q" * 64}, "queue: takes 1 to 63 bytes"),
        ({"queue": "ü" * 32}, "queue: takes 1 to 63 bytes"),
        ({"queue": None}, "queue: takes 1 to 63 bytes"),
        ({"task": ""}, "task: takes 1 to 200 bytes"),
        ({"task": "t" * 201}, "task: takes 1 to 200 bytes"),
        ({"task": None}, "task: takes 1 to 200 bytes"),
        ({"tenant": ""}, "tenant: takes 1 to 63 bytes"),
        ({"tenant": "t" * 64}, "tenant: takes 1 to 63 bytes"),
        ({"key": ""}, "key: takes 1 to 500 bytes"),
        ({"key": "k" * 501}, "key: takes 1 to 500 bytes"),
        ({"name": ""}, "name: takes 1 to 200 bytes"),
        ({"name": "n" * 201}, "name: takes 1 to 200 bytes"),
        ({"group": "g" * 201}, "group: takes 1 to 200 bytes"),
        ({"tags": ["t"] * 65}, "tags: takes at most 64"),
        ({"headers": [1]}, "headers: takes a JSON object"),
        ({"priority": 32768}, "priority: takes -32768 to 32767"),
        ({"priority": -32769}, "priority: takes -32768 to 32767"),
        ({"priority": None}, "priority: takes -32768 to 32767"),
        ({"max_attempts": 0}, "max_attempts: takes 1"),
        ({"timeout": 0}, "timeout: takes seconds above 0"),
        ({"timeout": 1e9}, "timeout: takes seconds above 0, at most 2592000"),
        ({"timeout": float("nan")}, "timeout: takes"),
        ({"timeout": float("inf")}, "timeout: takes"),
        ({"payload": [1]}, "payload: takes a JSON object"),
        ({"payload": "x"}, "payload: takes a JSON object"),
        ({"run_at": "infinity"}, "run_at: takes a time"),
        ({"run_at": "-infinity"}, "run_at: takes a time"),
        ({"run_at": "294276-01-01"}, "run_at: takes a time"),
        ({"deadline": "infinity"}, "deadline: takes a time"),
        ({"deadline": "10000-01-01"}, "deadline: takes a time"),
        ({"delay": "40000 days"}, "delay: takes at most"),
        ({"delay": "1 day", "run_at": "2099-01-01"}, "run_at and delay: write one"),
        ({"hold": "x", "run_at": "infinity"}, "run_at: takes a time"),
    ],
    ids=str,
)
def test_a_bad_row_is_refused_with_a_reason_and_nothing_is_stored(house, columns, message):
    with pytest.raises(psycopg.Error, match=message):
        house.enqueue_all([columns])
    assert (house.count("job"), house.count("ready")) == (0, 0)


@pytest.mark.parametrize("hours", [-1.5, 1.5])
def test_an_id_of_another_clock_is_refused(house, hours):
    moment = house.clock.now() + timedelta(hours=hours)
    (job,) = house.rows("select leasehold.id_floor(%s at time zone 'UTC')", moment)
    with pytest.raises(psycopg.Error, match="was not made here"):
        house.enqueue(id=job[0])
    assert house.count("job") == 0


@pytest.mark.parametrize("job", ["01000000-0000-7000-8000-000000000000", UUID(int=2**127)])
def test_the_function_refuses_an_id_far_from_any_day_by_name(house, job):
    with pytest.raises(EnqueueRefused, match="was not made here"):
        enqueue(house, {"id": str(job)})


def test_an_endless_delay_is_refused_where_postgres_knows_one(house):
    if house.connection.info.server_version >= 170000:
        with pytest.raises(psycopg.Error, match="delay: takes at most"):
            house.do("insert into leasehold.job (task, delay) values ('t', 'infinity')")


def test_the_bounds_themselves_are_taken(house):
    house.enqueue(queue="q" * 63, task="t" * 200, key="k" * 500, tenant="t" * 63)
    for priority in (-32768, 32767):
        house.enqueue(priority=priority, max_attempts=32767, timeout=0.001)
    assert house.count("ready") == 3


def test_the_function_refuses_in_our_own_words(house):
    with pytest.raises(EnqueueRefused, match="nothing was enqueued"):
        enqueue(house, {"queue": ""})


def test_missing_and_null_tasks_are_refused(house):
    with pytest.raises(EnqueueRefused, match="task"):
        house.call(verbs.enqueue('[{"queue": "q"}]'))


def test_what_is_missing_is_said_without_showing_the_row(house):
    secret = Jsonb({"card": "4111"})
    with pytest.raises(psycopg.Error) as refused:
        house.do("insert into leasehold.job (payload, priority) values (%s, null)", secret)
    assert "4111" not in f"{refused.value} {refused.value.diag.message_detail}"


def test_a_field_that_the_function_does_not_know_is_refused_by_name(house):
    with pytest.raises(EnqueueRefused, match="knows no field prioritty"):
        enqueue(house, {"task": "t", "prioritty": 1})
    assert house.count("job") == 0


def test_a_stored_job_is_not_changed_by_hand(house):
    job = house.enqueue()
    with pytest.raises(psycopg.Error, match="is written once"):
        house.do("update leasehold.job set priority = 5 where id = %s", job)
    assert house.entry("ready", job)["priority"] == 100


def test_a_payload_with_everything_json_can_hold(house):
    payload = {"ü": [None, True, 1.5, "\n\"'%"], "deep": {"a": {"b": []}}}
    house.do("insert into leasehold.job (task, payload) values ('t', %s)", Jsonb(payload))
    assert house.claim(house.runner())[0].payload == payload


def test_plain_sql_producers_wake_runners_only_where_the_house_says_so(house):
    for wanted in (False, True):
        house.do("update leasehold.house set sql_notify = %s", wanted)
        house.call(verbs.sleep(house.runner(), ["default"]))
        house.enqueue()
        assert house.count("sleeper") == (0 if wanted else 1)
