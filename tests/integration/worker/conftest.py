"""Cells on PostgreSQL with each bus, and the verified fakes in real time."""

from collections.abc import AsyncGenerator

import pytest

from holdfast.worker.heartbeat import in_own_thread
from tests.support.workers import Cell, fake_cell, real_cell


@pytest.fixture(params=["postgres", "redis", "fake"])
async def cell(request: pytest.FixtureRequest, template: str) -> AsyncGenerator[Cell]:
    if request.param == "fake":
        async with fake_cell() as cell:
            cell.beside = in_own_thread
            yield cell
        return
    async with real_cell(request.param, template) as cell:
        yield cell
