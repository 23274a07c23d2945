"""The programs in examples/ run to their end and print what they should."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PRINTED = {
    "receipts": """\
the receipt of order 4 was asked for already: True
a receipt over 19.90, attempts 1
a receipt over 4.50, attempts 2
a receipt over 120.00, attempts 1
receipt of order 999: failed, there is no order 999
receipts: 3, of orders: 3
""",
    "crawl": """\
succeeded: 196
failed: 4
tried more than once: 8
words: 784 of 784
attempts of the summary: 2
""",
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs_to_its_end(name, leasehold_dsn, tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py")],
        cwd=tmp_path,
        env={**os.environ, "DATABASE_URL": leasehold_dsn},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, PRINTED[name]), done.stderr
