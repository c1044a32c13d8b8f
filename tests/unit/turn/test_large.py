"""A chat that no model could take is refused before it is read."""

from dataclasses import dataclass
from typing import Any

import pytest

from holdfast.domain.chat import ErrorKind, Status
from holdfast.domain.commands import Interrupt, RequestCompaction
from holdfast.ports.history import PAGE_BYTES_MAX
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.model_steps import TOO_LARGE
from holdfast.turn.session import TOKEN_BYTES_MAX
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.scripted import ScriptedModels, says
from tests.support.stage import staged

WINDOW = PAGE_BYTES_MAX // TOKEN_BYTES_MAX
MESSAGE = PAGE_BYTES_MAX // 4


@dataclass
class Small(ScriptedModels):
    """Models with a window of one page."""

    def __init__(self, *scripts: Any) -> None:
        super().__init__(*scripts)

    def context_window(self, model: str | None) -> int | None:  # pyright: ignore[reportImplicitOverride]
        return WINDOW


@requirement("L140")
@pytest.mark.parametrize("compacts", [False, True])
async def test_a_prompt_past_any_window_is_refused_before_it_is_read(*, compacts: bool) -> None:
    async with staged() as stage:
        large = [user("x" * MESSAGE) for _ in range(12)]
        chat = await stage.world.running(*large)
        if compacts:
            await stage.world.do(chat.chat_id, RequestCompaction())
            chat = await stage.world.load(chat.chat_id)
        other = stage.with_models(Small(says("never")))
        chat = await other.drive(chat)

        assert chat.status is Status.FAILED
        assert chat.error == TOO_LARGE
        assert TOO_LARGE.kind is ErrorKind.CONTEXT_OVERFLOW
        assert other.models.asked == []
        assert other.store.calls["page"] == 1, "the rest of it was read"


@requirement("L140")
async def test_a_long_prompt_that_may_fit_is_read_page_by_page() -> None:
    async with staged(says("Hi.")) as stage:
        chat = await stage.turn(*(user("x" * MESSAGE) for _ in range(6)))

        assert chat.status is Status.IDLE
        assert stage.store.calls["page"] == 2
        assert len(stage.models.asked[0].history) == 6


@requirement("L140", "L80")
async def test_a_chat_that_is_too_large_can_be_stopped() -> None:
    async with staged() as stage:
        chat = await stage.world.running(*(user("x" * MESSAGE) for _ in range(12)))
        await stage.world.do(chat.chat_id, Interrupt())
        chat = await stage.world.load(chat.chat_id)
        other = stage.with_models(Small(says("never")))
        chat = await other.drive(chat, Interrupts(chat))

        assert chat.status is Status.IDLE
        assert other.store.calls["page"] == 1
