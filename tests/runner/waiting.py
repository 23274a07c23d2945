"""Waiting for something that only a look can tell."""

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from typing import Any


async def until(true: Callable[[], Any], seconds: float = 20) -> Any:
    """Looks often, so that a test takes as long as what it waits for."""
    async with asyncio.timeout(seconds):
        while not (found := await _now(true())):  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)
    return found


async def _now(value: Any) -> Any:
    return await value if isawaitable(value) else value
