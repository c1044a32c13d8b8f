"""Ports with a watch beside them: all passes through, and its time is told."""

import asyncio

import pytest

from holdfast.bootstrap.observed import ObservedModels, ObservedStream, observed_drive
from holdfast.domain.chat import Chat, Status
from holdfast.ports.models import Ask, TextDelta
from holdfast.turn.interrupts import Interrupts
from tests.support.builders import CHAT, a_chat, user
from tests.support.scripted import Failed, Hold, ScriptedModels, ScriptedStream, says
from tests.support.virtual import run_virtually

ASK = Ask(chat_id=CHAT, model=None, effort=None, history=(user(),))


def test_a_reply_passes_through_and_both_its_times_are_told() -> None:
    first: list[float] = []
    whole: list[float] = []

    async def story() -> None:
        models = ObservedModels(
            ScriptedModels(says("a", "b"), window=7), first.append, whole.append
        )
        async with models.stream(ASK) as stream:
            assert (first, whole) == ([0.0], [])
            assert stream.opened
            await asyncio.sleep(5)
            assert [e.text async for e in stream if isinstance(e, TextDelta)] == ["a", "b"]
            assert stream.final is not None
            assert stream.usage == stream.final.usage
            assert stream.partial() == stream.final.parts
        assert models.context_window(None) == 7

    run_virtually(story())
    assert (first, whole) == ([0.0], [5.0])


@pytest.mark.parametrize("ending", ["well", "cancelled"])
def test_leaving_closes_the_connection(ending: str) -> None:
    inner = ScriptedStream([TextDelta(0, "a"), Hold()])

    async def read() -> None:
        async with ObservedStream(inner, lambda _s: None, lambda _s: None) as stream:
            if ending == "cancelled":
                async for _ in stream:
                    pass

    async def story() -> None:
        if ending == "well":
            await read()
            return
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await read()

    run_virtually(story())
    assert inner.closed


def test_an_attempt_that_fails_has_no_first_part_but_an_end() -> None:
    first: list[float] = []
    whole: list[float] = []

    async def story() -> None:
        models = ObservedModels(ScriptedModels([Failed()]), first.append, whole.append)
        with pytest.raises(Failed):
            async with models.stream(ASK):
                raise AssertionError("entered")

    run_virtually(story())
    assert (first, whole) == ([], [0.0])


@pytest.mark.parametrize("fails", [False, True])
def test_driving_is_timed_however_it_ends(fails: bool) -> None:
    took: list[float] = []
    chat = a_chat(Status.RUNNING)

    async def drive(chat: Chat, nudges: Interrupts) -> Chat:
        await asyncio.sleep(3)
        assert not fails
        return chat

    async def story() -> None:
        if fails:
            with pytest.raises(AssertionError):
                await observed_drive(drive, took.append)(chat, Interrupts(chat))
        else:
            assert await observed_drive(drive, took.append)(chat, Interrupts(chat)) is chat

    run_virtually(story())
    assert took == [3.0]
