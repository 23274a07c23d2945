from datetime import UTC, datetime, timedelta

import pytest

from leasehold.define.outcome import UNSET, Cancel, Fail, Outcome, SendOn, Snooze, TryAgain
from leasehold.errors import LeaseholdError, OptionError


@pytest.mark.parametrize("outcome", [TryAgain(), Snooze(1), Cancel("x"), Fail("x"), SendOn()])
def test_an_outcome_can_be_returned_and_raised(outcome):
    with pytest.raises(Outcome) as caught:
        raise outcome
    assert caught.value is outcome


def test_catching_our_errors_lets_an_outcome_pass():
    assert not issubclass(Outcome, LeaseholdError)


def test_durations_are_seconds_or_timedeltas():
    assert Snooze(timedelta(minutes=2)).delay == 120.0
    assert TryAgain(3).delay == 3.0
    assert TryAgain().delay is None


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Snooze(-1), "Snooze.delay is outside"),
        (lambda: Snooze(None), "Snooze.delay takes seconds"),
        (lambda: TryAgain(float("nan")), "TryAgain.delay is outside"),
        (lambda: Fail(7), "Fail.reason takes a text"),
        (lambda: SendOn(priority=10**6), "SendOn.priority is outside"),
        (lambda: SendOn(queue=""), "SendOn.queue has 0 bytes"),
        (lambda: SendOn(run_at=datetime(2030, 1, 1)), "SendOn.run_at has no time zone"),  # noqa: DTZ001
        (lambda: SendOn(delay=1, run_at=datetime(2030, 1, 1, tzinfo=UTC)), "say one of them"),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_made(make, problem):
    with pytest.raises(OptionError) as caught:
        make()
    assert problem in str(caught.value)


def test_a_reason_is_cleaned_and_cut_so_that_it_can_be_stored():
    assert Fail("a\0b\ud800").reason == "a\\0b?"
    assert len(Cancel("é" * 20_000).reason.encode()) <= 16_384


def test_a_state_of_none_is_not_the_same_as_none_said():
    assert SendOn(queue="next").state is UNSET
    assert SendOn(state=None).state is None
    assert repr(UNSET) == "UNSET"
