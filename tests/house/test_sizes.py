"""The sizes of STYLE.md are printed, never enforced."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_sizes_are_printed():
    command = [sys.executable, ROOT / "dev.py", "sizes"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    sys.stdout.write(done.stdout)  # seen with pytest -s or -rP
    assert "functions" in done.stdout
    assert "modules" in done.stdout
