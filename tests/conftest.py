"""What all our tests share: `house`, a fresh database and words for what a test does in it."""

from collections.abc import Iterator

import pytest

from testhouse import House


@pytest.fixture
def house(leasehold_dsn, leasehold_clock) -> Iterator[House]:
    """The invariants are audited at the end of every test that used it."""
    with House(leasehold_dsn, leasehold_clock) as house:
        yield house
        house.audit()
