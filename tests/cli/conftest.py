"""Words for what a person types, and what comes back."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leasehold.cli.main import code

PROGRAM = Path(sys.executable).with_name("leasehold")


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def typed(house, capsys, monkeypatch):
    """`typed("status", "--json")`: the command line in this process, on the house's database."""
    monkeypatch.setenv("DATABASE_URL", house.dsn)

    def typed(*words: object) -> Answer:
        capsys.readouterr()
        exit_code = code([str(word) for word in words])
        return Answer(exit_code, *capsys.readouterr())

    return typed


@pytest.fixture
def program(tmp_path):
    """`program("status")`: a process of its own, in an empty folder, without a database."""
    names = ("DATABASE_URL", "VIRTUAL_ENV")
    plain = {name: value for name, value in os.environ.items() if name not in names}

    def program(*words: object, given: str = "", **environment: str) -> Answer:
        done = subprocess.run(
            [PROGRAM, *map(str, words)], cwd=tmp_path, env={**plain, **environment},
            input=given, capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        return Answer(done.returncode, done.stdout, done.stderr)

    return program
