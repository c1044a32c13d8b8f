"""A database and a simulator, for servers of the test's own."""

from collections.abc import AsyncGenerator

import pytest

from tests.support.replica import Replicas, replicas


@pytest.fixture
async def cell(template: str) -> AsyncGenerator[Replicas]:
    async with replicas(template) as shared:
        yield shared
