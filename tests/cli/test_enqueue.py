"""`leasehold enqueue`: arguments become a payload, options become columns."""

import io
import sys
from types import SimpleNamespace
from uuid import UUID

import pytest

SAMPLE = ("--app", "leasehold.cli.sample:app")


def columns(house):
    return house.rows("select task, queue, payload from leasehold.job order by id")


def test_the_id_is_printed_and_nothing_else(typed, house):
    answer = typed("enqueue", "mail", "user_id=7", "name=Ann", 'tags=["a"]')
    assert (answer.code, answer.err) == (0, "")
    assert columns(house) == [("mail", "default", {"user_id": 7, "name": "Ann", "tags": ["a"]})]
    assert house.state(UUID(answer.out.strip())) == "ready"


def test_options_are_the_columns_of_the_job(typed, house):
    said = "--queue q --priority 5 --delay 2h --tenant acme --tag a --tag b --max-attempts 2"
    typed("enqueue", "t", *said.split(), "--id", "mine", "--group", "g")
    [row] = house.rows(
        'select queue, priority, tenant, tags, max_attempts, name, "group" from leasehold.job'
    )
    assert row == ("q", 5, "acme", ["a", "b"], 2, "mine", "g")
    assert house.count("scheduled") == 1


def test_with_an_app_the_signature_checks_the_arguments(typed, house):
    answer = typed("enqueue", "quick", "number=many", *SAMPLE)
    assert answer.code == 2
    assert "quick.number expected `int`" in answer.err
    assert columns(house) == []


def test_with_an_app_the_task_brings_its_own_options(typed, house):
    typed("enqueue", "quick", "number=4", *SAMPLE)
    assert columns(house) == [("quick", "sample", {"number": 4})]


def test_a_number_is_a_text_where_the_signature_wants_one(typed, house):
    typed("enqueue", "flaky", "name=12", *SAMPLE)
    assert columns(house) == [("flaky", "sample", {"name": "12"})]


def test_a_task_the_app_has_not_is_guessed(typed):
    answer = typed("enqueue", "quik", *SAMPLE)
    assert answer.code == 2
    assert "did you mean 'quick'" in answer.err


def test_of_a_taken_key_the_job_that_has_it_is_printed_and_the_rest_is_said_beside(typed):
    first = typed("enqueue", "t", "--key", "k").out
    again = typed("enqueue", "t", "--key", "k")
    assert (again.code, again.out) == (0, first)
    assert f"the live job {first.strip()} has the key 'k'" in again.err


def test_a_job_that_nobody_would_take_is_enqueued_and_said(typed, house):
    house.runner(house.worker(queues=["mail"], tasks=["welcome"]))
    answer = typed("enqueue", "welcome")
    assert answer.code == 0
    assert "no live worker of queue 'default' knows a task 'welcome'" in answer.err
    assert typed("enqueue", "welcome", "--queue", "mail").err == ""


def test_a_role_that_may_only_enqueue_can(typed, house):
    as_producer = f"{house.dsn}&options=-crole%3Dleasehold_producer"
    assert typed("enqueue", "t", "--database", as_producer).code == 0
    refused = typed("jobs", "--database", as_producer)
    assert refused.code == 1
    assert "permission denied" in refused.err
    assert house.count("ready") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["user_id"], "is not name=value"),
        (["--json", "[1]"], "takes an object"),
        (["--json", "{"], "is not JSON"),
        (["a=1", "--json", "{}"], "once"),
        (["--priority", "99999"], "outside its range"),
        (["--delay", "soon"], "length of time"),
        (["--run-at", "soon"], "takes a time"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_written(typed, house, words, said):
    answer = typed("enqueue", "t", *words)
    assert answer.code == 2
    assert said in answer.err
    assert house.count("job") == 0


def given(monkeypatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))


def test_standard_input_is_a_job_a_line(typed, house, monkeypatch):
    given(monkeypatch, "".join(f'{{"n": {n}}}\n' for n in range(2_500)) + "\n")
    answer = typed("enqueue", "t", "--stdin")
    assert answer.code == 0
    assert len(answer.out.split()) == 2_500
    assert house.count("ready") == 2_500


def test_a_bad_line_is_named_and_nothing_is_stored(typed, house, monkeypatch):
    lines = [f'{{"number": {n}}}' for n in range(3_001)] + ['{"number": "x"}', '{"number": 4}']
    given(monkeypatch, "\n".join(lines))
    answer = typed("enqueue", "quick", "--stdin", *SAMPLE)
    assert (answer.code, answer.out) == (2, "")
    assert "line 3002: quick.number expected `int`" in answer.err
    assert "nothing is stored" in answer.err
    assert house.count("job") == 0


def test_what_the_database_refuses_in_the_middle_leaves_nothing_to_be_doubled(
    typed, house, monkeypatch
):
    house.do("alter table leasehold.job add constraint odd check (payload ->> 'n' <> '1500')")
    lines = "".join(f'{{"n": {n}}}\n' for n in range(2_000))
    given(monkeypatch, lines)
    answer = typed("enqueue", "t", "--stdin")
    assert (answer.code, answer.out) == (1, "")
    assert "none of the 2000 jobs is stored" in answer.err
    house.do("alter table leasehold.job drop constraint odd")
    given(monkeypatch, lines)
    assert typed("enqueue", "t", "--stdin").code == 0
    assert house.count("job") == house.count("ready") == 2_000


def test_an_empty_input_enqueues_nothing(typed, house, monkeypatch):
    given(monkeypatch, "\n")
    assert typed("enqueue", "t", "--stdin") == (0, "", "")
    assert house.count("job") == 0
