"""Where log lines of a worker go: standard error, one line each, the reader's tools do the rest."""

import logging
import sys


def begin_logging(*, verbose: bool = False) -> None:
    """Leaves alone what the user's own code has set up."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(handler)
        root.setLevel(logging.WARNING)
    logging.getLogger("leasehold").setLevel(logging.DEBUG if verbose else logging.INFO)
