"""`module:attribute`: found, or said what is wrong with it."""

import traceback

import pytest

from leasehold.cli.target import load
from leasehold.errors import SettingsError


@pytest.fixture
def module(tmp_path, monkeypatch):
    """`module("text")` writes a module and answers its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def module(text: str) -> str:
        name = f"module_{abs(hash(text))}"
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return module


def test_an_app_is_found_by_its_name_or_alone(module):
    name = module("from leasehold import App\nmine = App()")
    assert load(f"{name}:mine") is load(name)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("", "is not module:attribute"),
        ("jobs.py", "is not module:attribute"),
        ("nowhere:app", "no module 'nowhere' here"),
        ("leasehold.cli.sample:ap", "did you mean 'app'"),
        ("leasehold.errors:app", "it has no App at all"),
    ],
)
def test_what_is_wrong_is_said(target, said):
    with pytest.raises(SettingsError, match=said):
        load(target)


def test_a_module_that_fails_shows_its_own_lines_and_not_those_of_the_import(module):
    name = module("import json\n\n\ndef broken():\n    raise ValueError('x')\n\n\nbroken()\n")
    with pytest.raises(ValueError, match="x") as raised:
        load(f"{name}:app")
    files = [frame.filename for frame in traceback.extract_tb(raised.tb)]
    assert not any("importlib" in file for file in files)
    assert sum(name in file for file in files) == 2
