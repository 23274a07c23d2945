"""`leasehold completion SHELL`: prints the script; what reads it is the shell's business."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from leasehold.errors import SettingsError

Shell = Literal["bash", "zsh", "fish"]
_SHELLS: dict[str, Shell] = {"bash": "bash", "zsh": "zsh", "fish": "fish"}


def completion(
    shell: Annotated[Shell | None, Parameter(help="the shell you use now, if absent")] = None,
    /,
) -> int:
    """Prints a completion script. For bash: source <(leasehold completion bash), in ~/.bashrc."""
    from leasehold.cli.main import app  # noqa: PLC0415 - it is the one that imports us

    name = shell or _SHELLS.get(Path(os.environ.get("SHELL", "")).name)
    if name is None:
        msg = f"completion takes one of {', '.join(_SHELLS)}"
        raise SettingsError(msg)
    sys.stdout.write(app.generate_completion(prog_name="leasehold", shell=name))
    return 0
