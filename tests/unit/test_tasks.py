"""Tasks that stand beside a block: whose error is whose."""

import asyncio
import logging
import warnings
from itertools import pairwise

import pytest

from holdfast import tasks
from holdfast.tasks import FAILURES, PAUSE_S_MAX, PAUSE_S_MIN, Crew, label_of
from holdfast.telemetry.background_tasks import BACKGROUND_TASKS
from tests.requirements import requirement
from tests.support.virtual import run_virtually


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


async def test_an_error_of_a_task_ends_the_block_where_that_is_asked_for() -> None:
    async def block() -> None:
        async with Crew() as crew:
            crew.create_task(_fail(), ends_block=True)
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


@requirement("L133")
async def test_an_error_of_a_task_ends_neither_siblings_nor_the_block(
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = FAILURES["feed"]
    async with Crew() as crew:
        sibling = crew.create_task(_for_ever())
        failing = crew.create_task(_fail(), name="feed 4711")
        await asyncio.wait({failing})
        assert not sibling.done()
        sibling.cancel()
    assert FAILURES["feed"] == before + 1
    (told,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert told.getMessage() == 'server: task feed 4711 failed: LookupError("a task\'s")'


@requirement("L133")
def test_a_loop_that_raises_is_run_again_with_growing_pauses() -> None:
    at_s: list[float] = []
    now_s = asyncio.get_running_loop

    async def loop() -> None:
        at_s.append(now_s().time())
        if len(at_s) == 9:
            await asyncio.sleep(2 * PAUSE_S_MAX)  # it ran for a while: the pauses begin anew
        raise ValueError("each time")

    async def story() -> None:
        async with Crew() as crew:
            task = crew.keep_up(loop, name="clock")
            await asyncio.sleep(400)
            task.cancel()

    before = FAILURES["clock"]
    run_virtually(story())
    pauses = [later - earlier for earlier, later in pairwise(at_s)]
    assert pauses[:7] == [0.5, 1, 2, 4, 8, 16, 30]
    assert pauses[8] == 2 * PAUSE_S_MAX + PAUSE_S_MIN
    assert FAILURES["clock"] - before == len(at_s)


async def test_a_loop_that_returns_has_ended() -> None:
    async def once() -> None:
        pass

    async with asyncio.timeout(60), Crew() as crew:
        await crew.keep_up(once, name="clock")


async def test_a_task_that_is_cancelled_before_its_first_step_leaves_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with Crew() as crew:
            crew.create_task(_for_ever()).cancel()


def test_every_failure_has_a_label_that_the_metrics_know() -> None:
    assert set(BACKGROUND_TASKS) == set(tasks.TASKS)
    names = ("feed 1", "list of 2", "list poll", "workspace 3 starting", "clock", "new one")
    labels = ("feed", "list", "list poll", "workspace", "clock", "other")
    assert tuple(map(label_of, names)) == labels
