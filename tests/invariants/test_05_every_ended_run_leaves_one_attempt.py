"""5. Every ended run leaves exactly one attempt; snooze and release leave none, only counters."""

import pytest

from leasehold.store import verbs

LINES = {
    "succeeded": 1,
    "failed": 1,
    "cancelled": 1,
    "retried": 1,
    "sent_on": 1,
    "snoozed": 0,
    "released": 0,
    "vanished": 1,
}


@pytest.mark.parametrize("ending", LINES)
def test_lines_of_history(house, ending):
    runner = house.runner()
    job = house.running(runner)
    if ending == "vanished":
        house.call(verbs.reap(9, runner, [job.id]))
    elif ending == "released":
        house.release(runner, job)
    else:
        house.finish(runner, job, outcome=ending)
    assert len(house.history(job.id)) == LINES[ending]


def test_a_repeat_leaves_no_second_one(house):
    runner = house.runner()
    job = house.running(runner)
    for outcome in ("succeeded", "succeeded", "failed", "retried"):
        house.finish(runner, job, outcome=outcome)
    assert house.history(job.id) == ["succeeded"]


def test_snoozes_and_releases_are_counted_as_moves(house):
    runner = house.runner()
    job = house.running(runner)
    house.release(runner, job)
    assert house.entry("ready", job.id)["moves"] == 1
    house.finish(runner, *house.claim(runner), outcome="snoozed", delay=9)
    assert house.entry("scheduled", job.id)["moves"] == 2
