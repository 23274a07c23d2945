"""For tests: a fresh database each (`leasehold_dsn`), time moved by hand (`leasehold_clock`)."""

from typing import TYPE_CHECKING, Any

__all__ = ["Clock", "Databases"]

if TYPE_CHECKING:  # a type checker that saw __getattr__ would take any name for one of ours
    from leasehold.testing.clock import Clock
    from leasehold.testing.database import Databases
else:

    def __getattr__(name: str) -> Any:
        # pytest loads our plugin, and so this package, in projects that never ask for a database.
        if name == "Clock":
            from leasehold.testing.clock import Clock  # noqa: PLC0415

            return Clock
        if name == "Databases":
            from leasehold.testing.database import Databases  # noqa: PLC0415

            return Databases
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
