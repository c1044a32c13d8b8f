"""Virtual time: the clock jumps, for tests and for their fixtures."""

import asyncio

import pytest

from tests.support.virtual import VirtualLoop
from tests.support.virtual import virtual_runner as virtual_runner


@pytest.fixture
async def loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def test_tests_and_fixtures_of_a_module_run_in_virtual_time(
    loop: asyncio.AbstractEventLoop,
) -> None:
    assert isinstance(loop, VirtualLoop)
    assert asyncio.get_running_loop() is loop
    await asyncio.sleep(3600)
    assert loop.time() == 3600


async def test_a_wait_that_never_ends_fails() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3600):
            await asyncio.Event().wait()
