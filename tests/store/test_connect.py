"""Connections are opened whole or not at all."""

import asyncio
import gc
from contextlib import suppress

from leasehold.store.connect import close, connect


async def test_a_connect_that_is_given_up_leaves_nothing_open(leasehold_dsn):
    """As whoever waits for a result with little patience does, at any moment of it.

    What is left open warns when it is collected, and warnings are errors.
    """
    for moment in range(60):
        with suppress(TimeoutError):
            async with asyncio.timeout(moment / 5_000):
                await close(await connect(leasehold_dsn))
    gc.collect()
