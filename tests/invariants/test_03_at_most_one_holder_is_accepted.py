"""3. At any time at most one holder of a job is accepted; a stale write is refused and says so."""

import pytest

from leasehold.store import verbs


@pytest.fixture
def two_holders(house):
    """One whose lease ran out without its noticing, and one who has the job now."""
    late, prompt = house.runner(), house.runner()
    job = house.running(late)
    house.call(verbs.reap(9, late, [job.id]))
    return late, job, prompt, house.claim(prompt)[0]


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "retried", "snoozed"])
def test_the_late_finish_is_refused_and_reported(house, two_holders, outcome):
    late, job, prompt, again = two_holders
    assert house.finish(late, job, outcome=outcome) == {job.id: "lost"}
    assert house.finish(late, again, outcome=outcome) == {job.id: "lost"}
    assert house.finish(prompt, again) == {}


def test_the_late_one_neither_releases_nor_saves(house, two_holders):
    late, job, _, again = two_holders
    for held in (job, again):
        assert house.release(late, held) == set()
        said = [{"bundle": held.bundle, "job": str(job.id), "progress": 1}]
        assert house.call(verbs.save(late, said)) == set()
    assert house.rooms(job.id) == {"running"}


def test_claim_numbers_only_grow(house):
    job, seen = house.enqueue(), []
    for step in range(6):
        runner = house.runner()
        claimed = house.claim(runner)[0]
        seen.append(claimed.claim_no)
        if step % 3 == 0:
            house.release(runner, claimed)
        elif step % 3 == 1:
            house.finish(runner, claimed, outcome="retried")
        else:
            house.call(verbs.reap(9, runner, [job]))
    assert seen == sorted(set(seen))


def test_done_already_and_lost_are_three_answers(house):
    runner = house.runner()
    job = house.running(runner)
    assert house.finish(runner, job) == {}
    assert house.finish(runner, job) == {job.id: "already"}
    assert house.finish(house.runner(), job) == {job.id: "lost"}
