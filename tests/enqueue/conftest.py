import pytest

from enqueue.wire import Wire
from leasehold import App


@pytest.fixture
async def app(leasehold_dsn):
    async with App(leasehold_dsn) as app:
        yield app


@pytest.fixture
def wire(leasehold_dsn):
    wire = Wire(leasehold_dsn)
    yield wire
    wire.close()
