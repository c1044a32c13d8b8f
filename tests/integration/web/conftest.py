"""An empty database and a simulator, and a server on a socket for them."""

from collections.abc import AsyncGenerator

import pytest

from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.web import Cell, a_cell


@pytest.fixture
async def empty(template: str) -> AsyncGenerator[Replicas]:
    async with temporary_database(template) as url, running(Config(hang_max_s=20)) as simulator:
        yield Replicas(url, simulator)


@pytest.fixture
async def cell(empty: Replicas) -> AsyncGenerator[Cell]:
    async with a_cell(empty, origins="http://ours.example") as cell:
        yield cell
