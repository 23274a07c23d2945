"""What the code has, the reference has: no option, error, event, command or setting is left out."""

import importlib.util
import re

import psycopg
import pytest
from pages import ROOT

REFERENCE = ROOT / "docs" / "reference"
OF_THE_SYSTEM = {"LD_LIBRARY_PATH", "PATH", "VIRTUAL_ENV", "SHELL", "NO_COLOR", "TERM"}


@pytest.fixture(scope="module")
def printer():
    path = ROOT / "docs" / "print_reference.py"
    spec = importlib.util.spec_from_file_location("print_reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_printed_from_the_code_is_what_the_code_says(printer):
    late = [page.name for page in printer.outdated()]
    assert late == [], "run python docs/print_reference.py"


def test_every_part_that_can_be_printed_is_on_a_page(printer):
    printed = {
        found[2]
        for page in REFERENCE.glob("*.md")
        for found in printer.PLACE.finditer(page.read_text())
    }
    assert printed == set(printer.PARTS)


def test_every_environment_variable_is_a_setting_on_the_page():
    asked = set()
    for module in (ROOT / "src").rglob("*.py"):
        asked |= set(re.findall(r"environ(?:\.get)?[\[(]\s*\"(\w+)\"", module.read_text()))
    asked |= set(re.findall(r"^    \"([A-Z_]+)\",$", address_module(), re.MULTILINE))
    page = (REFERENCE / "settings.md").read_text()
    ours = {name for name in asked if name not in OF_THE_SYSTEM}
    assert sorted(name for name in ours if f"`{name}`" not in page) == []


def address_module():
    return (ROOT / "src" / "leasehold" / "store" / "address.py").read_text()


@pytest.mark.parametrize(
    ("table", "page"),
    [("house", "settings.md"), ("job", "sql-contract.md"), ("jobs", "sql-contract.md")],
)
def test_every_column_that_people_meet_is_on_its_page(table, page, leasehold_dsn):
    with psycopg.connect(leasehold_dsn) as connection:
        rows = connection.execute(
            "select column_name from information_schema.columns "
            "where table_schema = 'leasehold' and table_name = %s",
            (table,),
        ).fetchall()
    text = (REFERENCE / page).read_text()
    assert sorted(name for (name,) in rows if f"`{name}`" not in text) == []


def test_every_sqlstate_of_ours_is_on_the_page():
    sql = "".join(path.read_text() for path in (ROOT / "src").rglob("*.sql"))
    page = (REFERENCE / "errors.md").read_text()
    assert sorted(state for state in set(re.findall(r"LH\d{3}", sql)) if state not in page) == []


def test_every_outcome_of_history_is_on_the_page(leasehold_dsn):
    with psycopg.connect(leasehold_dsn) as connection:
        rows = connection.execute("select unnest(enum_range(null::leasehold.outcome))::text")
        outcomes = [row[0] for row in rows.fetchall()]
    page = (REFERENCE / "states-and-moves.md").read_text()
    assert [outcome for outcome in outcomes if f"`{outcome}`" not in page] == []
