from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.define.options import Options
from leasehold.define.retry import Retry
from leasehold.errors import OptionError

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def refused(**said):
    with pytest.raises(OptionError) as caught:
        Options.checked(**said)
    return str(caught.value)


def test_what_is_not_said_is_none():
    assert Options.checked() == Options.checked(queue=None) == Options()


def test_what_is_said_here_wins_over_the_base():
    base = Options(queue="mail", priority=1)
    assert Options(priority=2).over(base) == Options(queue="mail", priority=2)


def test_a_delay_said_here_takes_the_place_of_a_time_said_before():
    assert Options(delay=5.0).over(Options(run_at=NOON)) == Options(delay=5.0)
    assert Options(deadline=NOON).over(Options(deadline_in=9.0)) == Options(deadline=NOON)


def test_an_unknown_option_is_named_with_the_nearest_known_one():
    assert refused(priorityy=1) == "priorityy is not an option, did you mean 'priority'?"
    assert "known are queue" in refused(zzz=1)


@pytest.mark.parametrize("value", [999_999, -32_769, 32_768])
def test_a_priority_outside_its_range_is_refused(value):
    assert "-32768 to 32767" in refused(priority=value)


@pytest.mark.parametrize("name", ["priority", "max_attempts", "delay", "timeout", "deadline"])
def test_true_is_no_number(name):
    assert "got a bool" in refused(**{name: True})


@pytest.mark.parametrize("value", [0, 10**9, -1])
def test_max_attempts_outside_its_range_is_refused(value):
    assert "1 to 32767" in refused(max_attempts=value)


@pytest.mark.parametrize("name", ["queue", "tenant"])
@pytest.mark.parametrize("value", ["", "x" * 64, "é" * 32, "a\nb", "a\0b", "a\x85b", "\ud800", 7])
def test_a_queue_or_tenant_has_1_to_63_bytes_without_control_characters(name, value):
    message = refused(**{name: value})
    assert message.startswith(name)
    assert "1 to 63" in message or "control characters" in message


def test_quotes_are_data_as_any_other():
    name = "o'brien \"; drop table job --"
    assert Options.checked(queue=name).queue == name


def test_a_negative_delay_means_now_and_warns():
    with pytest.warns(UserWarning, match="below 0"):
        assert Options.checked(delay=timedelta(seconds=-3)).delay == 0.0


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 10**30])
def test_an_endless_delay_is_refused(value):
    assert "36500 days" in refused(delay=value)


def test_durations_may_be_timedeltas():
    said = Options.checked(delay=timedelta(minutes=1), timeout=timedelta(hours=1))
    assert (said.delay, said.timeout) == (60.0, 3600.0)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (datetime(2030, 1, 1), "has no time zone; use"),  # noqa: DTZ001
        (float("inf"), "got a float"),
        ("infinity", "got a str"),
        (datetime.max.replace(tzinfo=UTC), "out of range"),
        (datetime.min.replace(tzinfo=UTC), "out of range"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "out of range"),
    ],
)
def test_a_time_is_aware_and_within_the_years_postgres_and_python_share(value, problem):
    assert problem.replace(";", ":") in refused(run_at=value).replace(";", ":")


def test_a_deadline_is_a_time_or_counted_from_the_enqueue():
    assert Options.checked(deadline=NOON).deadline == NOON
    assert Options.checked(deadline=timedelta(hours=1)).deadline_in == 3600.0
    assert "more than 0" in refused(deadline=0)


def test_two_options_for_one_thing_are_refused():
    assert "both" in refused(delay=1, run_at=NOON)
    assert "both" in refused(deadline=5, deadline_in=6)


@pytest.mark.parametrize("value", [0, 31 * 86_400, "5"])
def test_a_timeout_is_above_zero_and_bounded(value):
    assert refused(timeout=value).startswith("timeout")


def test_tags_are_a_list_of_texts():
    assert Options.checked(tags=["a", "b"]).tags == ("a", "b")
    assert "got a str" in refused(tags="a")
    assert refused(tags=["a", 1]).startswith("tags[1]")


def test_an_id_may_be_any_uuid_or_text():
    assert Options.checked(id=UUID(int=7)).id == str(UUID(int=7))
    assert Options.checked(id="order-7").id == "order-7"


def test_what_has_another_shape_is_refused_by_type():
    assert "takes a dict, got a list" in refused(headers=[])
    assert "takes a datetime, seconds or a timedelta, got a str" in refused(deadline="noon")
    assert "takes a whole number from -32768 to 32767, got a float" in refused(priority=1.0)
    assert "at most 64" in refused(tags=["a"] * 65)
    with pytest.raises(OptionError, match="takes a number from 0 to 1, got a str"):
        Retry(jitter="much")
    with pytest.raises(OptionError, match=r"takes one of 'retry', 'fail', got None"):
        Retry(unknown=None)


def test_a_key_over_500_bytes_is_refused():
    assert "501 bytes: write 1 to 500" in refused(key="k" * 501)


def test_a_hold_says_its_reason():
    assert Options.checked(hold="until the audit\nis over").hold == "until the audit\nis over"
    assert "takes a text" in refused(hold=True)


def test_headers_are_flat_small_and_plain():
    plain = {"traceparent": "00-1", "n": 1, "share": 0.5, "on": True, "none": None, "empty": ""}
    assert Options.checked(headers=plain).headers == plain
    assert "headers['a']" in refused(headers={"a": []})
    assert "at most 64" in refused(headers={str(n): n for n in range(65)})
    assert "outside its range" in refused(headers={"n": float("inf")})


def test_no_message_shows_the_value():
    for said in ({"queue": "geheim\n"}, {"key": "geheim" * 100}, {"headers": {"a": ["geheim"]}}):
        assert "geheim" not in refused(**said)


def test_the_attempts_of_the_job_win_over_those_of_its_rule():
    assert Options().attempts_allowed == 5
    assert Options(retry=Retry(3)).attempts_allowed == 3
    assert Options(retry=Retry(3), max_attempts=9).attempts_allowed == 9
    assert "write Retry(" in refused(retry=5)
    assert Options.checked(retry=Retry(3)).attempts_allowed == 3


_SOME = st.builds(
    Options,
    queue=st.none() | st.just("q"),
    delay=st.none() | st.just(1.0),
    run_at=st.none(),
    priority=st.none() | st.integers(-5, 5),
)


@given(a=_SOME, b=_SOME, c=_SOME)
def test_laying_options_over_each_other_is_associative(a, b, c):
    assert a.over(b).over(c) == a.over(b.over(c))
