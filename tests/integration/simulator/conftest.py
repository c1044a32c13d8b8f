"""A simulator of the test's own, on a free port."""

from collections.abc import AsyncGenerator

import pytest

from holdfast_simulator.server import Config, Simulator, running


@pytest.fixture
async def simulator() -> AsyncGenerator[Simulator]:
    async with running(Config(hang_max_s=20)) as started:
        yield started
