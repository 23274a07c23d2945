import pytest

from leasehold import App


@pytest.fixture
async def app(leasehold_dsn):
    async with App(leasehold_dsn) as app:
        yield app


@pytest.fixture
async def errands(leasehold_dsn, monkeypatch):
    """The app of errands.py, whose tasks run in processes: those import it by name."""
    from pathlib import Path  # noqa: PLC0415

    from runner import errands  # noqa: PLC0415

    monkeypatch.setenv("DATABASE_URL", leasehold_dsn)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    async with errands.app:
        yield errands


@pytest.fixture
def short_lease(house):
    """Beats come six times in a second, and so do cancellations and progress."""
    house.do("update leasehold.house set lease = '1 second'")
    return house
