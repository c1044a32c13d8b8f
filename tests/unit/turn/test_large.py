"""A chat that no model could take is never read whole: a summary of it is made in pieces."""

from dataclasses import dataclass
from typing import Any

import pytest

from holdfast.admin.settings import COMPACTION_PERCENT
from holdfast.domain.chat import ErrorKind, Status
from holdfast.domain.commands import Interrupt, RequestCompaction
from holdfast.domain.compaction import estimated_tokens
from holdfast.domain.messages import Role
from holdfast.ports.history import PAGE_BYTES_MAX
from holdfast.turn.compaction import TOO_LARGE
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.session import TOKEN_BYTES_MAX
from holdfast.turn.summary import PIECES_MAX
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.doubles import FixedSettings
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
@pytest.mark.parametrize("asked", [False, True])
async def test_a_prompt_past_any_window_is_summarised_in_pieces(*, asked: bool) -> None:
    async with staged() as stage:
        large = [user("x" * MESSAGE) for _ in range(12)]
        chat = await stage.world.running(*large)
        if asked:
            await stage.world.do(chat.chat_id, RequestCompaction())
            chat = await stage.world.load(chat.chat_id)
        models = Small(*[says(f"part {number}") for number in range(1, 9)], says("Hi."))
        chat = await stage.with_models(models).drive(chat)

        assert chat.status is Status.IDLE
        pieces, last = models.asked[:-1], models.asked[-1]
        assert len(pieces) <= PIECES_MAX
        for piece in pieces:
            assert sum(map(estimated_tokens, piece.history)) <= WINDOW
            assert not piece.tools
        assert last.history[0].role is Role.BOUNDARY
        said = [message.body.role for message in await stage.history(chat)]
        assert said[-3:] == [Role.USER, Role.BOUNDARY, Role.ASSISTANT]


@requirement("L140", "L23")
async def test_where_only_people_compact_such_a_prompt_is_refused_before_it_is_read() -> None:
    async with staged() as stage:
        chat = await stage.world.running(*(user("x" * MESSAGE) for _ in range(12)))
        settings = FixedSettings({COMPACTION_PERCENT.name: 100})
        other = stage.with_models(Small(says("never")), settings=settings)
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
