"""Whoever may only look can look at everything, and change nothing."""

import pytest

from leasehold.errors import AccessRefused
from leasehold.operate.act import act, redrivable
from leasehold.operate.ask import on
from leasehold.operate.explain import explain
from leasehold.operate.find import one
from leasehold.operate.listing import page
from leasehold.operate.status import status
from leasehold.operate.timeline import timeline


@pytest.fixture
def as_role(house):
    def as_role(role):
        connection = house.connect()
        connection.execute(f"set role leasehold_{role}".encode())
        return on(connection)

    return as_role


@pytest.mark.parametrize("role", ["reader", "operator"])
def test_a_reader_and_an_operator_see_everything(house, as_role, role):
    dead, job, ask = house.dead(), house.enqueue(key="k"), as_role(role)
    assert one(ask, "k").id == job
    assert [queue["ready"].jobs for queue in status(ask).queues] == [1]
    assert {line.id for line in page(ask, {}).jobs} == {job, dead}
    assert timeline(ask, dead).state == "failed"
    assert explain(ask, job).code in ("unknown_task", "next", "queue_unserved", "no_worker")
    assert redrivable(ask, {})[0].jobs == 1


def test_a_reader_changes_nothing(house, as_role):
    job = house.enqueue()
    with pytest.raises(AccessRefused, match="leasehold_operator"):
        act(as_role("reader"), "cancel", [str(job)], "ann")
    assert house.state(job) == "ready"


def test_an_operator_does(house, as_role):
    job = house.enqueue()
    [answer] = act(as_role("operator"), "cancel", [str(job)], "ann")
    assert answer.done


@pytest.mark.parametrize("role", ["producer", "runner"])
def test_others_do_not_look(house, as_role, role):
    house.enqueue()
    with pytest.raises(AccessRefused):
        page(as_role(role), {})
