import inspect

import pytest

from drivers.ways import WAYS
from leasehold import App


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
async def way(request, leasehold_dsn, monkeypatch):
    # A job is enqueued from a view; that the test itself runs on a loop is no matter of Django's.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    way = request.param(leasehold_dsn)
    await way.open()
    yield way
    await way.close()


@pytest.fixture
async def app(leasehold_dsn):
    async with App(leasehold_dsn) as app:
        yield app


@pytest.fixture
def task(app):
    @app.task(queue="mail")
    async def welcome(user: int) -> int:
        return user

    assert inspect.iscoroutinefunction(welcome.definition.function)
    return welcome
