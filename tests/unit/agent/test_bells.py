"""Waiting without asking again and again, and without missing the one moment that counts."""

import asyncio
from collections.abc import Callable

import pytest

from holdfast_agent.bells import Bell
from tests.requirements import requirement
from tests.support.virtual import virtual_runner as virtual_runner


class LosesRings(Bell):
    """Mutant: something may happen between the look and the wait."""

    async def until(  # pyright: ignore[reportImplicitOverride] - 3.11
        self, met: Callable[[], bool], *, within_s: float
    ) -> bool:
        if met():
            return True
        await asyncio.sleep(0)
        return await super().until(lambda: False, within_s=within_s) or met()


async def woken_s(bell: Bell) -> float:
    """How long a wait takes whose condition comes true right after the first look at it."""
    loop = asyncio.get_running_loop()
    done = False

    def come_true() -> None:
        nonlocal done
        done = True
        bell.ring()

    def met() -> bool:
        loop.call_soon(come_true)
        return done

    began = loop.time()
    assert await bell.until(met, within_s=0.5)
    return loop.time() - began


@requirement("L103")
async def test_a_ring_between_the_look_and_the_wait_is_not_lost() -> None:
    assert await woken_s(Bell()) == 0


async def test_a_bell_that_loses_it_is_noticed() -> None:
    assert await woken_s(LosesRings()) == pytest.approx(0.5)


@requirement("L103")
async def test_all_who_wait_are_woken_by_one_ring_and_look_once_more() -> None:
    bell, done, looks = Bell(), False, 0

    def met() -> bool:
        nonlocal looks
        looks += 1
        return done

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        waits = [tasks.create_task(bell.until(met, within_s=5)) for _ in range(500)]
        await asyncio.sleep(0)
        assert bell.waiting == 500
        done = True
        bell.ring()
    assert all(wait.result() for wait in waits)
    assert looks == 1000
    assert bell.waiting == 0


async def test_a_wait_has_an_end_and_leaves_nothing_behind() -> None:
    bell = Bell()
    assert not await bell.until(lambda: False, within_s=0.01)
    wait = asyncio.ensure_future(bell.until(lambda: False, within_s=60))
    await asyncio.sleep(0)
    wait.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wait
    assert bell.waiting == 0


async def test_a_ring_for_nothing_wakes_nobody_for_good() -> None:
    bell, done = Bell(), False
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        wait = tasks.create_task(bell.until(lambda: done, within_s=5))
        await asyncio.sleep(0)
        bell.ring()
        await asyncio.sleep(1)
        assert not wait.done()
        done = True
        bell.ring()
