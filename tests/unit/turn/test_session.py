"""Opening the toolbox of a turn: beside hints, and without a round of the event loop."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from holdfast.domain.chat import Chat, Status
from holdfast.domain.errors import Unavailable
from holdfast.ports.tools import Toolbox, ToolContext
from holdfast.tools.toolbox import Functions
from holdfast.turn.commits import ChatChanged
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.session import TurnSession
from holdfast.turn.turn import OpenToolbox, Turn
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.stage import Stage, staged


class Gated:
    """A source that opens when its gate does, or fails."""

    names = frozenset[str]()

    def __init__(self, error: Exception | None = None) -> None:
        self.gate = asyncio.Event()
        self.openings = 0
        self._error = error

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        self.openings += 1
        if self._error is not None:
            raise self._error
        await self.gate.wait()
        yield Functions()


@asynccontextmanager
async def session_of(stage: Stage, chat: Chat) -> AsyncGenerator[TurnSession]:
    turn = Turn(chat, Interrupts(chat))
    services = stage.driver._services  # pyright: ignore[reportPrivateUsage]
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        turn.tools = OpenToolbox(stack=stack, group=group)
        yield TurnSession(services, turn)


@requirement("L04")
async def test_interrupt_that_is_read_in_the_moment_of_opening_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = Gated()
    async with staged(tools=source) as stage:
        chat = await stage.world.running(user())
        interrupted = replace(chat, status=Status.INTERRUPTING)
        async with session_of(stage, chat) as session:

            async def read(_: Any) -> Chat:
                source.gate.set()
                return interrupted

            monkeypatch.setattr(session.services.reading, "chat", read)
            opening = asyncio.create_task(session.toolbox())
            await asyncio.sleep(0)
            session.turn.nudges.doubt()
            with pytest.raises(ChatChanged):
                await opening
            assert session.turn.chat.status is Status.INTERRUPTING
            await session.toolbox()
        assert source.openings == 1, "what was opened is kept"


async def test_opening_that_waits_for_nothing_takes_no_round_of_the_loop() -> None:
    async with staged() as stage:
        chat = await stage.world.running(user())
        async with session_of(stage, chat) as session:
            opening = session.toolbox()
            with pytest.raises(StopIteration):
                opening.send(None)


async def test_database_that_is_away_while_a_toolbox_opens_fails_no_turn() -> None:
    """The error comes out as it is: the worker releases the chat, and another one drives it."""
    async with staged(tools=Gated(Unavailable("away"))) as stage:
        chat = await stage.world.running(user())
        with pytest.raises(Unavailable):
            await stage.drive(chat)
        assert (stage.counters.bugs, stage.now(chat).status) == (0, Status.RUNNING)


async def test_error_of_the_read_beside_an_opening_ends_the_opening(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged(tools=Gated()) as stage:
        chat = await stage.world.running(user())
        async with session_of(stage, chat) as session:

            async def read(_: Any) -> Chat:
                raise ZeroDivisionError

            monkeypatch.setattr(session.services.reading, "chat", read)
            session.turn.nudges.doubt()
            with pytest.raises(ZeroDivisionError):
                await session.toolbox()
