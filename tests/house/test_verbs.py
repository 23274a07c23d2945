"""One verb, one name: SQL file, SQL function, Python function, event and test file."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SQL = ROOT / "src" / "leasehold" / "store" / "sql" / "verbs"
CREATED = re.compile(r"(?im)^\s*create\s+or\s+replace\s+function\s+leasehold\.(\w+)")


def sql_files() -> set[str]:
    return {path.stem for path in SQL.glob("*.sql")}


def sql_functions() -> set[str]:
    return {name for path in SQL.glob("*.sql") for name in CREATED.findall(path.read_text())}


def python_functions() -> set[str]:
    verbs = importlib.import_module("leasehold.store.verbs")
    functions = inspect.getmembers(verbs, inspect.isfunction)
    ours = {name for name, function in functions if function.__module__ == verbs.__name__}
    return {name for name in ours if not name.startswith("_")}


def events() -> set[str]:
    return set(importlib.import_module("leasehold.observe.event").EVENTS)


def files_of_tests() -> set[str]:
    files = (ROOT / "tests" / "verbs").glob("test_*.py")
    return {path.stem.removeprefix("test_") for path in files}


FACES = {
    "store/sql/verbs/<verb>.sql": sql_files,
    "the functions in those files": sql_functions,
    "the functions of leasehold.store.verbs": python_functions,
    "leasehold.observe.event.EVENTS": events,
    "tests/verbs/test_<verb>.py": files_of_tests,
}


def names(face: str) -> set[str]:
    try:
        return FACES[face]()
    except (ModuleNotFoundError, AttributeError) as error:
        if not str(error.name).startswith(("leasehold", "EVENTS")):
            raise
        return set()  # not written yet, so it has none of them


@pytest.mark.parametrize("face", FACES)
def test_every_verb_has_every_face(face):
    every_verb = set().union(*(names(other) for other in FACES))
    missing = sorted(every_verb - names(face))
    assert not missing, f"{face}: nothing there for {', '.join(missing)}"


@pytest.mark.parametrize("path", sorted(SQL.glob("*.sql")), ids=lambda path: path.stem)
def test_a_file_holds_the_function_of_its_name_and_no_other(path):
    assert set(CREATED.findall(path.read_text())) == {path.stem}


def test_there_are_verbs():
    assert sql_files(), f"no files in {SQL.relative_to(ROOT)}"
