"""docs/coverage.md names tests that are there, for each row that this release must show."""

import ast
import re

from pages import ROOT

PAGE = (ROOT / "docs" / "coverage.md").read_text()
ROWS = re.findall(
    r"\w+",
    """
A1 A2 A3 A4 A6 A7 A8 A11 A15 A16 B1 B2 B3 B4 B5 B10 D2 D3 D4 D6 D7 D8 D12 D13 D24
E1 E2 E3 E4 E5 E6 X1 X2 X3 X5 X9
""",
)


def test_every_test_that_is_named_exists():
    named = re.findall(r"`(tests/[\w/.]+)::(\w+)`", PAGE)
    assert [f"{file}::{name}" for file, name in named if name not in names_in(file)] == []


def names_in(file):
    path = ROOT / file
    if not path.exists():
        return set()
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_every_row_has_its_line_and_a_test():
    lines = {line.split("|")[1].strip(): line for line in PAGE.splitlines() if line.startswith("|")}
    assert [row for row in ROWS if "::" not in lines.get(row, "")] == []
