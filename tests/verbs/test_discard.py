"""discard: dead → gone."""

from uuid import uuid4

from leasehold.store import verbs


def discard(house, *jobs):
    return dict(house.call(verbs.discard(list(jobs), "ann", "seen")))


def test_a_discarded_job_leaves_the_dead_letter_and_keeps_its_history(house):
    job = house.dead()
    assert discard(house, job) == {job: "discarded"}
    assert (house.rooms(job), house.history(job)) == (set(), ["failed"])


def test_others_answer_with_their_state(house):
    ready, nobody = house.enqueue(), uuid4()
    assert discard(house, ready, nobody) == {ready: "ready", nobody: "not_found"}


def test_a_second_discard_finds_it_gone(house):
    job = house.dead()
    discard(house, job)
    assert discard(house, job) == {job: "failed"}


def test_it_may_still_be_retried_from_what_was_asked(house):
    job = house.dead(payload={"n": 1})
    discard(house, job)
    assert dict(house.call(verbs.retry([job], "ann"))) == {job: "retried"}
    assert house.claim(house.runner())[0].payload == {"n": 1}


def test_it_is_written_down_who_did_it(house):
    discard(house, house.dead())
    assert house.rows("select actor, verb, note from leasehold.audit") == [
        ("ann", "discard", "seen")
    ]
