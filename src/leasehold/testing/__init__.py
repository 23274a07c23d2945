"""For tests: a fresh database each, jobs run step by step or inline, and time moved by hand."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Clock", "Databases", "Ended", "Failure", "Steps", "inline"]

if TYPE_CHECKING:  # a type checker that saw __getattr__ would take any name for one of ours
    from leasehold.testing.clock import Clock
    from leasehold.testing.database import Databases
    from leasehold.testing.inlining import inline
    from leasehold.testing.stepper import Ended, Failure
    from leasehold.testing.steps import Steps
else:
    # pytest loads our plugin, and so this package, in projects that never ask for a database.
    _PLACES = {
        "Clock": "clock",
        "Databases": "database",
        "Ended": "stepper",
        "Failure": "stepper",
        "Steps": "steps",
        "inline": "inlining",
    }

    def __getattr__(name: str) -> Any:
        if name in _PLACES:
            return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
