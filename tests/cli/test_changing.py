"""The people's verbs: 0 when all was done, 1 with a line for each that could not."""

import pytest

from leasehold.cli import database


def test_a_dead_job_is_retried_and_the_audit_knows_who(typed, house):
    job = house.dead()
    answer = typed("retry", job, "--reason", "the bank is back")
    assert (answer.code, answer.err) == (0, "")
    assert house.state(job) == "ready"
    assert house.rows("select actor, verb, note from leasehold.audit") == [
        (database.actor(), "retry", "the bank is back")
    ]


def test_hold_and_resume(typed, house):
    job = house.enqueue()
    assert typed("hold", job, "--reason", "look first").code == 0
    assert house.state(job) == "waiting"
    assert "look first" in typed("explain", job).out
    assert typed("resume", job).code == 0
    assert house.state(job) == "ready"


def test_what_cannot_be_done_is_said_and_the_rest_is_done(typed, house):
    waits, runs = house.enqueue(queue="other"), house.running()
    answer = typed("hold", waits, runs.id, "nowhere")
    assert answer.code == 1
    assert answer.out == f"{waits} held\n"
    assert "cannot be held: it runs" in answer.err
    assert "nowhere" in answer.err
    assert house.state(waits) == "waiting"


def test_a_running_job_is_told_to_stop(typed, house):
    job = house.running()
    answer = typed("cancel", job.id)
    assert answer.code == 0
    assert "has been told to stop" in answer.out
    assert "told to stop" in typed("explain", job.id).out


@pytest.mark.parametrize("verb", ["cancel", "hold", "resume", "discard"])
def test_an_ended_job_is_left_alone(typed, house, verb):
    runner = house.runner()
    job = house.running(runner)
    house.finish(runner, job)
    answer = typed(verb, job.id, "--json")
    assert answer.code == 1
    assert not answer.document[0]["done"]
    assert house.state(job.id) == "succeeded"


def test_a_duplicate_is_not_mistaken_for_the_job_that_has_its_key(typed, house):
    first, twin = house.enqueue(key="k"), house.enqueue(key="k")
    answer = typed("cancel", twin)
    assert answer.code == 1
    assert str(first) in answer.err
    assert house.state(first) == "ready"


def test_discard_empties_the_dead_letter_one_by_one(typed, house):
    job, other = house.dead(), house.dead()
    assert typed("discard", job).code == 0
    assert house.count("dead") == 1
    assert house.entry("dead", other)


def test_redrive_takes_those_that_match(typed, house):
    mail, other = house.dead(queue="default", task="mail"), house.dead(task="other")
    would = typed("redrive", "--task", "mail", "--dry-run")
    assert would.code == 0
    assert "1 job would be redriven" in would.out
    assert house.count("dead") == 2
    assert "1 job may run again" in typed("redrive", "--task", "mail", "--to-queue", "slow").out
    assert house.state(mail) == "ready"
    assert house.entry("ready", mail)["queue"] == "slow"
    assert house.state(other) == "failed"


def test_redrive_goes_no_further_than_its_limit_and_no_faster_than_its_pace(typed, house):
    for _ in range(5):
        house.dead()
    assert typed("redrive", "--limit", "3", "--pace", "1000", "--json").document["retried"] == 3
    assert house.count("dead") == 2


def test_redrive_names_those_whose_key_is_taken(typed, house):
    job = house.dead(key="k")
    house.enqueue(key="k")
    answer = typed("redrive")
    assert answer.code == 1
    assert f"job {job} stays in the dead letter: another live job has its key" in answer.err
