"""The pytest plugin: loaded with every pytest run, it costs nothing until it is used."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from leasehold.app import App
    from leasehold.testing.clock import Clock
    from leasehold.testing.database import Databases
    from leasehold.testing.steps import Steps


@pytest.fixture(scope="session")
def leasehold_databases() -> Iterator["Databases"]:
    """The server of this run and its template: `.make()` gives another database."""
    from leasehold.testing.database import Databases  # noqa: PLC0415  brings psycopg

    with Databases() as databases:
        yield databases


@pytest.fixture
def leasehold_dsn(leasehold_databases: "Databases") -> Iterator[str]:
    """A database of this test's own, with Leasehold's schema and nothing in it."""
    dsn = leasehold_databases.make()
    yield dsn
    leasehold_databases.drop(dsn)


@pytest.fixture
def leasehold_clock(leasehold_dsn: str) -> Iterator["Clock"]:
    """Moves the time of `leasehold_dsn`: `leasehold_clock.advance(60)`."""
    from leasehold.testing.clock import Clock  # noqa: PLC0415

    with Clock(leasehold_dsn) as clock:
        yield clock


@pytest.fixture
def leasehold_app() -> "App":
    """Yours: a fixture of this name in your conftest.py takes its place."""
    msg = "leasehold_steps runs the jobs of your app: a fixture leasehold_app has to return it"
    raise pytest.UsageError(msg)


@pytest.fixture
def leasehold_steps(leasehold_app: "App") -> Iterator["Steps"]:
    """Runs the jobs of `leasehold_app` one by one: `await leasehold_steps.run_next()`."""
    from leasehold.testing.steps import Steps  # noqa: PLC0415

    with Steps(leasehold_app) as steps:
        yield steps
