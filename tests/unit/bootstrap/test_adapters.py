"""What goes on beside a server, and how it ends."""

import asyncio

import pytest

from holdfast.bootstrap.adapters import keep_in_time
from holdfast.bootstrap.background import beside
from holdfast.domain.errors import Unavailable
from tests.requirements import requirement
from tests.support.virtual import run_virtually


def test_the_clock_is_compared_now_and_then_whatever_the_database_says() -> None:
    at_s: list[float] = []

    async def sync() -> None:
        at_s.append(asyncio.get_running_loop().time())
        if len(at_s) == 2:
            raise Unavailable("not now")

    async def story() -> None:
        async with beside(lambda: keep_in_time(sync, 60.0), "clock"):
            await asyncio.sleep(200)

    run_virtually(story())
    assert at_s == [60.0, 120.0, 180.0]


@requirement("L133")
def test_a_fault_beside_does_not_end_the_block() -> None:
    failed = 0

    async def fail() -> None:
        nonlocal failed
        failed += 1
        raise ZeroDivisionError

    async def story() -> None:
        async with beside(fail, "work"):
            await asyncio.sleep(3600)

    run_virtually(story())
    assert failed > 100, "it is tried again for as long as the block goes on"


def test_an_error_of_the_block_passes_as_it_is() -> None:
    async def story() -> None:
        async with beside(lambda: asyncio.sleep(3600), "work"):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_virtually(story())
