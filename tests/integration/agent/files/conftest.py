"""For tests of files, a workspace of the test's own."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.support.agent_files import Client, Place, place_in, serving


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_in(tmp_path)


@pytest.fixture
async def files(place: Place) -> AsyncGenerator[Client]:
    async with serving(place) as client:
        yield client
