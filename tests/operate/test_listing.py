"""A page of jobs: by every filter, from the room where a state is asked, and never twice."""

import pytest

from leasehold.operate import listing
from leasehold.operate.ask import on
from leasehold.operate.listing import page
from leasehold.store import verbs


@pytest.fixture
def listed(house):
    def listed(**chosen):
        return [line.id for line in page(on(house.connection), chosen).jobs]

    return listed


def test_every_state_has_its_own_list(house, listed):
    runner = house.runner()
    done = house.running(runner)
    house.finish(runner, done)
    dead = house.dead()
    house.enqueue_many(2)
    begun, prefetched = house.claim(runner, 2, begin=1)
    held, gone, late = house.enqueue(hold="x"), house.enqueue(), house.enqueue(delay="1 hour")
    house.call(verbs.cancel([gone], "ann"))
    ready, sent = house.enqueue(), house.enqueue(queue="out")
    house.call(verbs.dispatch("out", "redis", 1, 60))
    there = {
        "succeeded": done.id, "failed": dead, "running": begun.id, "assigned": prefetched.id,
        "waiting": held, "cancelled": gone, "scheduled": late, "ready": ready, "dispatched": sent,
    }  # fmt: skip
    assert {state: listed(state=state) for state in there} == {s: [j] for s, j in there.items()}
    assert listed(state="expired") == []
    assert set(listed()) == set(there.values())


@pytest.mark.parametrize("name", ["queue", "task", "tenant", "group", "key", "name"])
def test_a_filter_takes_its_own_and_no_other(house, listed, name):
    house.enqueue(**{name: "other"})
    job = house.enqueue(**{name: "mine"})
    assert listed(**{name: "mine"}) == [job]
    assert listed(**{name: "mine", "state": "ready"}) == [job]
    assert listed(**{name: "nobody's"}) == []


def test_a_tag_is_one_of_several(house, listed):
    job = house.enqueue(tags=["a", "b"])
    house.enqueue(tags=["c"])
    assert listed(tag="b") == [job]


def test_an_error_is_looked_for_in_the_dead_letter(house, listed):
    job = house.dead()
    assert listed(error="Boom") == [job]
    assert listed(error="Other") == []


def test_since_and_until_are_times_of_the_enqueue(house, listed):
    early = house.enqueue()
    house.pass_time(3600)
    between = house.clock.now().isoformat()
    house.pass_time(60)
    late = house.enqueue()
    assert listed(since=between) == [late]
    assert listed(until=between) == [early]


@pytest.mark.parametrize("state", [None, "ready", "scheduled", "failed"])
def test_pages_follow_each_other_without_gap_or_repeat(house, state):
    for number in range(7):
        if state == "failed":
            house.dead()
        else:
            later = {"delay": "1 hour"} if state == "scheduled" else {}
            house.enqueue(queue=f"q{number % 2}", priority=number % 3, **later)
    seen, after = [], None
    for _ in range(5):
        found = page(on(house.connection), {"state": state} if state else {}, limit=3, after=after)
        seen += [line.id for line in found.jobs]
        if (after := found.after) is None:
            break
    assert len(seen) == len(set(seen)) == 7


def test_a_look_that_found_nothing_yet_says_where_to_go_on(house, monkeypatch):
    wanted = house.enqueue(tags=["rare"])
    house.enqueue_many(10)
    monkeypatch.setattr(listing, "SCANNED", 4)
    after, seen = None, []
    for _ in range(4):
        found = page(on(house.connection), {"tag": "rare"}, after=after)
        assert len(found.jobs) <= 1
        seen += [line.id for line in found.jobs]
        if (after := found.after) is None:
            break
    assert seen == [wanted]
