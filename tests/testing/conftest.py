from pathlib import Path

import pytest

from leasehold import App, Retry

MINUTE = Retry(3, backoff="fixed", base=60, jitter=0)


@pytest.fixture
def app(leasehold_dsn):
    """Not opened: some of its tests have an event loop, some have none."""
    app = App(leasehold_dsn)
    yield app
    app.close_sync()


@pytest.fixture
async def leasehold_app(app):
    async with app:
        yield app


@pytest.fixture
def double(app):
    @app.task(retry=MINUTE)
    async def double(n: int) -> int:
        if n < 0:
            raise ValueError("below zero")
        return 2 * n

    return double


@pytest.fixture
def halve(app):
    @app.task(retry=MINUTE)
    def halve(n: int) -> int:
        return n // 2

    return halve


@pytest.fixture
async def errands(leasehold_dsn, monkeypatch):
    """An app whose tasks run in processes: those import it by name."""
    from runner import errands  # noqa: PLC0415

    monkeypatch.setenv("DATABASE_URL", leasehold_dsn)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    async with errands.app:
        yield errands
