"""Tasks that stand beside a block: whose error is whose."""

import asyncio

import pytest

from holdfast.tasks import Crew


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def _fail() -> None:
    raise LookupError("a task's")


async def test_an_error_of_the_block_passes_as_it_is() -> None:
    tasks: list[asyncio.Task[None]] = []

    async def block() -> None:
        async with Crew() as crew:
            tasks.append(crew.create_task(_for_ever()))
            tasks[0].cancel()
            raise ValueError("the block's")

    with pytest.raises(ValueError, match="the block's"):
        await block()
    assert tasks[0].cancelled()


async def test_an_error_of_a_task_ends_the_block() -> None:
    async def block() -> None:
        async with Crew() as crew:
            crew.create_task(_fail())
            await _for_ever()

    with pytest.raises(ExceptionGroup) as caught:
        await block()
    assert caught.group_contains(LookupError, match="a task's")


async def test_a_cancellation_from_outside_ends_block_and_tasks() -> None:
    inner: list[asyncio.Task[None]] = []

    async def block() -> None:
        async with Crew() as crew:
            inner.append(crew.create_task(_for_ever()))
            await _for_ever()

    outer = asyncio.create_task(block())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    assert inner[0].cancelled()
