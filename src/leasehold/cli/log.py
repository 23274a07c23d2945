"""Where log lines of a worker go: standard error, one line each, the reader's tools do the rest."""

import logging
import sys


def begin_logging(level: int = logging.INFO) -> None:
    """Leaves alone what the user's own code has set up; `level` is that of our own lines."""
    root = logging.getLogger()
    if not root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
        root.setLevel(logging.INFO)
    ours = logging.getLogger("leasehold")
    if ours.level == logging.NOTSET:
        ours.setLevel(level)
