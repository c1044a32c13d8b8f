"""Two replicas on sockets, and either half of the SDK."""

from collections.abc import AsyncGenerator

import pytest

from holdfast_client import AsyncClient
from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.sdk import HALVES, Half, sdk_client
from tests.support.web import Cell, a_cell


@pytest.fixture
async def cell(template: str) -> AsyncGenerator[Cell]:
    async with (
        temporary_database(template) as url,
        running(Config(hang_max_s=20)) as simulator,
        a_cell(Replicas(url, simulator)) as cell,
    ):
        yield cell


@pytest.fixture(params=HALVES)
def half(request: pytest.FixtureRequest) -> Half:
    return request.param


@pytest.fixture
def token(cell: Cell) -> str:
    return cell.admin.headers["authorization"].removeprefix("Bearer ")


@pytest.fixture
async def client(cell: Cell, half: Half, token: str) -> AsyncGenerator[AsyncClient]:
    async with sdk_client(half, cell.urls[0], token) as client:
        yield client
