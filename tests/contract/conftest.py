"""Each contract runs on every implementation; a new one is one more line in `params`."""

from collections.abc import AsyncGenerator

import pytest

from tests.support.builders import ORG, OWNER
from tests.support.database import add_user, cloned_pool
from tests.support.world import World, fake_world, postgres_world


@pytest.fixture(params=["postgres", "fake"])
async def world(request: pytest.FixtureRequest, template: str) -> AsyncGenerator[World]:
    if request.param == "fake":
        yield fake_world()
        return
    async with cloned_pool(template, connections_max=8) as pool:
        await add_user(pool, ORG, OWNER)
        yield postgres_world(pool)
