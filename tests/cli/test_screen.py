"""What comes from a database cannot move the cursor, nor be markup."""

from datetime import UTC, datetime, timedelta

import pytest

from leasehold.cli import screen, times
from leasehold.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", "␛[31mred␇"),
        ("two\nlines", "two␊lines"),
        ("\x9b1A\x7f", "�1A␡"),
        ("a\u202eb", "a�b"),
        ("[bold]x[/]", "[bold]x[/]"),
        ("żółw 🐢", "żółw 🐢"),
    ],
)
def test_control_characters_are_drawn_and_not_obeyed(text, shown):
    assert screen.safe(text) == shown


def test_in_a_pipe_a_table_is_aligned_plain_text(capsys):
    screen.table(["name", ">n"], [("a", "10"), (("longer", "red"), "7")])
    assert capsys.readouterr().out == "name     n\na       10\nlonger   7\n"


def test_on_a_terminal_markup_in_a_value_is_text(capsys, monkeypatch):
    monkeypatch.setattr(screen, "terminal", lambda: True)
    screen.table(["name"], [("[red]x[/red]",)])
    screen.words(("[bold]y", "red"))
    said = capsys.readouterr().out
    assert "[red]x[/red]" in said
    assert "[bold]y" in said


@pytest.mark.parametrize(
    ("said", "seconds"), [("90", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86400), ("200ms", 0.2)]
)
def test_lengths_of_time_have_units(said, seconds):
    assert times.seconds("delay", said) == seconds


def test_a_length_nobody_understands_is_refused_with_an_example():
    with pytest.raises(SettingsError, match="--delay takes a length of time such as 90, 5m"):
        times.seconds("delay", "5 fortnights")


def test_since_takes_a_time_or_how_long_ago():
    before = datetime.now(UTC)
    since = times.past("since", "2h")
    assert before <= since + timedelta(hours=2) <= datetime.now(UTC)
    assert times.past("since", "2026-03-01T08:00+00:00") == datetime(2026, 3, 1, 8, tzinfo=UTC)


def test_on_a_narrow_terminal_texts_are_cut_and_ids_are_not():
    widths = [36, 9, 40, 11, 4, 60]
    right = [False, False, False, False, True, False]
    assert screen.fitting(widths, right, 200) == widths
    narrow = screen.fitting(widths, right, 100)
    assert sum(narrow) + 2 * 5 <= 100 or narrow[5] == 2 * screen.NARROWEST
    assert narrow[0] == 36
    assert narrow[4] == 4


def test_wide_characters_take_two_places(capsys):
    screen.table(["name", ">n"], [("日本", "1"), ("abcd", "2")])
    assert capsys.readouterr().out == "name  n\n日本  1\nabcd  2\n"


@pytest.mark.parametrize(("setting", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_styles_are_left_out_where_nobody_wants_them(capsys, monkeypatch, setting, value):
    monkeypatch.setattr(screen, "terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen.words(("x", "red"))
    assert capsys.readouterr().out == "\x1b[31mx\x1b[0m\n"
    monkeypatch.setenv(setting, value)
    screen.words(("x", "red"))
    assert capsys.readouterr().out == "x\n"


def test_every_state_has_a_style_that_is_known():
    assert {word for style in screen.STYLES.values() for word in style.split()} <= set(
        screen._CODES
    )


def test_long_work_is_seen_on_a_terminal_and_silent_elsewhere(capsys, monkeypatch):
    with screen.progress("redriving", 4) as advance:
        advance(2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(screen.sys.stderr, "isatty", lambda: True)
    with screen.progress("redriving", 4) as advance:
        advance(2)
    assert "redriving 2 [###############               ]  50% of 4" in capsys.readouterr().err
