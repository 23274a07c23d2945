"""The command line as a whole: what it says to whoever mistypes, and that it shows no traceback."""

import re

import pytest

from leasehold.cli.main import COMMANDS, app, code
from leasehold.cli.up import SAMPLE
from leasehold.define.moves import STATES


def test_a_mistyped_command_is_guessed(program):
    answer = program("stat")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "leasehold: there is no command 'stat', did you mean 'status'?\n"


def test_a_mistyped_option_is_guessed(typed):
    answer = typed("jobs", "--stat", "ready")
    assert answer.code == 2
    assert "Did you mean --state" in answer.err


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "bench"])
def test_every_command_has_help_that_names_its_options(command, capsys):
    assert code([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"leasehold {command}" in said


def test_no_option_is_without_a_word_of_help():
    silent = [
        f"{command} {argument.name}"
        for command in COMMANDS
        if command != "bench"
        for argument in app[command].assemble_argument_collection()
        if argument.parameter.show is not False and not argument.parameter.help
    ]
    assert silent == []


def test_without_a_database_it_says_where_one_comes_from(program):
    answer = program("status")
    assert answer.code == 2
    assert "DATABASE_URL" in answer.err
    assert "leasehold up" in answer.err
    assert answer.err.count("\n") == 1


def test_looking_makes_no_database(program, tmp_path):
    program("status")
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_does_not_answer_is_one_line(program):
    answer = program("status", "--database", "postgresql://nobody@127.0.0.1:1/none")
    assert answer.code == 1
    assert answer.err.startswith("leasehold: the database does not answer")
    assert answer.err.count("\n") == 1


def test_a_database_without_the_schema_names_the_command(typed, house):
    house.do("drop schema leasehold cascade")
    for words in (["status"], ["worker", "any:app"], ["enqueue", "t"], ["explain", "x"]):
        answer = typed(*words)
        assert answer.code == 1, words
        assert "`leasehold migrate`" in answer.err
    typed("migrate")


@pytest.mark.parametrize("command", ["show", "explain", "retry", "cancel", "hold", "discard"])
def test_an_unknown_job_is_one_line(typed, command):
    answer = typed(command, "01890000-0000-7000-8000-000000000000")
    assert (answer.code, answer.out) == (1, "")
    assert "is not here" in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("command", ["show", "explain", "retry"])
def test_an_id_with_a_slip_is_a_wrong_call(typed, command):
    answer = typed(command, "01890000-0000-7000-8000-00000000000")
    assert answer.code == 2
    assert "is not a job's id" in answer.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_completion_script_that_knows_the_commands(shell, capsys):
    assert code(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in COMMANDS)


def test_the_values_of_an_option_that_has_few_are_completed(capsys):
    assert code(["completion", "bash"]) == 0
    said = capsys.readouterr().out
    assert " ".join(f'"{state}"' for state in STATES) in said
    assert '"failed" "poison"' in said


@pytest.mark.parametrize(
    ("words", "role"),
    [
        (["status"], "reader"),
        (["jobs"], "reader"),
        (["explain", "x"], "reader"),
        (["doctor"], "reader"),
        (["cancel", "x"], "operator"),
        (["redrive"], "operator"),
        (["purge", "acme", "--yes"], "operator"),
    ],
)
def test_who_may_not_is_told_the_one_role_that_may(typed, house, words, role):
    answer = typed(*words, "--database", f"{house.dsn}&options=-crole%3Dleasehold_producer")
    assert (answer.code, answer.out) == (1, "")
    assert re.findall(r"leasehold_\w+", answer.err) == [f"leasehold_{role}"]
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "role"), [(["enqueue", "t"], "producer"), (["worker", SAMPLE], "runner")]
)
def test_who_may_only_look_is_told_what_it_takes_to_enqueue_or_to_work(program, house, words, role):
    answer = program(*words, "--database", f"{house.dsn}&options=-crole%3Dleasehold_reader")
    assert answer.code == 1
    assert re.findall(r"leasehold_\w+", answer.err) == [f"leasehold_{role}"]


def test_a_reader_that_goes_away_is_no_error(program, leasehold_dsn):
    answer = program("migrate", "--sql")
    assert answer.code == 0
    assert "create schema" in answer.out
