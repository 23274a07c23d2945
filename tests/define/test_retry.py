import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.define.retry import LONGEST, Retry
from leasehold.errors import OptionError

BACKOFFS = ["exponential", "quadratic", "fixed", [1, 2.5], lambda n: 2.0**n]


def waits(rule, attempts=4):
    return [rule.delay_before(n, luck=0.5) for n in range(1, attempts + 1)]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Retry(base=1), [1, 2, 4, 8]),
        (Retry(backoff="quadratic", base=10), [10, 40, 90, 160]),
        (Retry(backoff="fixed", base=7), [7, 7, 7, 7]),
        (Retry(backoff=[1, timedelta(minutes=1)]), [1, 60, 60, 60]),
        (Retry(backoff=lambda n: timedelta(seconds=n)), [1, 2, 3, 4]),
        (Retry(base=1, cap=3), [1, 2, 3, 3]),
    ],
)
def test_each_kind_waits_as_its_name_says(rule, expected):
    assert waits(rule) == expected


@given(
    backoff=st.sampled_from(BACKOFFS),
    attempt=st.integers(0, 10**9),
    luck=st.floats(0, 1),
    jitter=st.floats(0, 1),
)
def test_a_wait_is_never_below_zero_nor_above_the_cap_and_never_overflows(
    backoff, attempt, luck, jitter
):
    rule = Retry(backoff=backoff, cap=100, jitter=jitter)
    assert 0 <= rule.delay_before(attempt, luck) <= 100


def test_jitter_is_a_share_to_either_side():
    rule = Retry(backoff="fixed", base=100, jitter=0.1)
    assert rule.delay_before(1, luck=0) == pytest.approx(90)
    assert rule.delay_before(1, luck=1) == pytest.approx(110)


@pytest.mark.parametrize(
    "rule", [lambda n: 1 / 0, lambda n: math.nan, lambda n: "soon"], ids=["raises", "nan", "text"]
)
def test_a_backoff_function_that_breaks_costs_a_wait_and_no_job(rule):
    assert Retry(backoff=rule, cap=9, jitter=0).delay_before(1, 0.5) == 9


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"max_attempts": 0}, "Retry.max_attempts is outside"),
        ({"max_attempts": 10**9}, "Retry.max_attempts is outside"),
        ({"max_attempts": True}, "got a bool"),
        ({"cap": LONGEST + 1}, "30 days"),
        ({"cap": 0}, "more than 0"),
        ({"base": -1}, "Retry.base is outside"),
        ({"base": 9, "cap": 5}, "above the cap"),
        ({"jitter": 1.1}, "Retry.jitter is outside"),
        ({"jitter": math.nan}, "Retry.jitter is outside"),
        ({"backoff": "exponentail"}, "did you mean 'exponential'"),
        ({"backoff": []}, "has 0 steps"),
        ({"backoff": [1, 7200]}, "Retry.backoff[1] is above the cap of 3600 s: raise cap="),
        ({"backoff": [1, "x"]}, "Retry.backoff[1] takes seconds"),
        ({"backoff": 5}, "a list of seconds or a function, got an int"),
        ({"unknown": "maybe"}, "'retry', 'fail'"),
        ({"transient": [int]}, "int, which is no exception"),
        ({"terminal": ["ValueError"]}, "got a str"),
    ],
)
def test_a_rule_that_cannot_hold_is_refused_by_name(said, problem):
    with pytest.raises(OptionError) as caught:
        Retry(**said)
    assert problem in str(caught.value)


def test_an_error_that_nobody_sorted_is_unknown_and_the_rule_says_what_then():
    assert Retry().sort(ValueError()) == "unknown"
    assert Retry().retries(ValueError())
    assert not Retry(unknown="fail").retries(ValueError())


def test_the_class_nearest_to_the_errors_own_decides():
    rule = Retry(transient=(ConnectionError,), terminal=(OSError,))
    assert rule.sort(ConnectionResetError()) == "transient"
    assert rule.sort(FileNotFoundError()) == "terminal"
    assert not rule.retries(FileNotFoundError())


def test_functions_are_asked_before_classes():
    rule = Retry(transient=(OSError,), terminal=(lambda error: error.errno == 28,))
    assert rule.sort(OSError(28, "full")) == "terminal"
    assert rule.sort(OSError(4, "interrupted")) == "transient"


def test_a_sorter_that_raises_has_no_opinion():
    rule = Retry(terminal=(lambda error: error.nothing,), transient=ValueError)
    assert rule.sort(ValueError()) == "transient"


def test_one_terminal_member_makes_a_group_terminal():
    rule = Retry(transient=(OSError,), terminal=(ValueError,))
    assert rule.sort(ExceptionGroup("", [OSError(), ValueError()])) == "terminal"
    assert rule.sort(ExceptionGroup("", [OSError(), OSError()])) == "transient"
    assert rule.sort(ExceptionGroup("", [OSError(), KeyError()])) == "unknown"
