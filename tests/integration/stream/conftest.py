"""Readers on both real buses over a real PostgreSQL, and over the verified fakes."""

from collections.abc import AsyncGenerator

import pytest

from tests.support.streams import Stage, a_stage


@pytest.fixture(params=["postgres", "redis", "fake"])
async def stage(request: pytest.FixtureRequest, template: str) -> AsyncGenerator[Stage]:
    async with a_stage(request.param, template) as stage:
        yield stage
