"""What is written in the repository would read the same on anybody's machine."""

import ast
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE = {".git", ".venv", ".cache", ".leasehold", ".hypothesis", "dist", "node_modules"}

# Written in pieces, so that this file does not find itself.
REGISTRY = re.compile(
    r"--(?:extra-)?index-" + "url"
    r"|--find-" + "links"
    r"|files\.python" + "hosted"
    r"|py" + r"pi\.org/simple"
    r"|registry\." + "npmjs"
    r"|deb\." + r"debian\.org"
    r"|https?://[^\s/]*(?:artifact|nexus|devpi|proxy|registry|mirror)[^\s/]*/"
)
MACHINE = re.compile(
    re.escape(f"{ROOT}{os.sep}") + r"|(?<![\w.])/(?:root|home/\w+|Users/\w+)/|\.py" + "env/"
)
NAMED_BY_US = {"dev.py": REGISTRY}  # strips these options from what it writes

SLEEPS = {"sleep", "asyncio.sleep", "time.sleep", "anyio.sleep"}
LONGEST_SLEEP = 0.1


def texts() -> dict[str, str]:
    """Every file of ours: what git knows or would add; without git, all but what tools made."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [path for path in ROOT.rglob("*") if not MADE & {*path.relative_to(ROOT).parts}]
    found = {}
    for path in paths:
        if path.is_file() and b"\0" not in (content := path.read_bytes()):
            found[path.relative_to(ROOT).as_posix()] = content.decode(errors="replace")
    return found


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number} {line.strip()[:100]}"
        for name, text in texts().items()
        if NAMED_BY_US.get(name) is not pattern
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_package_registry():
    assert lines_with(REGISTRY) == []


def test_no_file_names_a_place_on_somebodys_machine():
    assert lines_with(MACHINE) == []


def test_the_locked_versions_have_hashes():
    pins = (ROOT / "constraints.txt").read_text().replace("\\\n", " ").splitlines()
    packages = [line for line in pins if line.strip() and not line.lstrip().startswith("#")]
    assert packages
    assert [line for line in packages if "==" not in line or "--hash=sha256:" not in line] == []


def test_time_is_moved_and_never_waited_for():
    """A job of a test that should last holds an Event or a Future and needs no sleep."""
    slept = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, text in texts().items()
        if name.startswith("tests/") and name.endswith(".py")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and is_long_sleep(node)
    ]
    assert slept == []


def is_long_sleep(call: ast.Call) -> bool:
    called = ast.unparse(call.func)  # `sleep` is also a verb of ours, and that one waits for nobody
    seconds = call.args[0] if call.args else None
    known = isinstance(seconds, ast.Constant) and isinstance(seconds.value, int | float)
    return called in SLEEPS and known and seconds.value >= LONGEST_SLEEP
