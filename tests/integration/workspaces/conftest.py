"""A yard for workspaces."""

from collections.abc import AsyncGenerator

import pytest

from tests.support.workspaces import Yard, a_yard


@pytest.fixture
async def yard(template: str) -> AsyncGenerator[Yard]:
    async with a_yard(template) as made:
        yield made
