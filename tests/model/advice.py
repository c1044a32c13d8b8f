"""What must hold of the advisor's cap, whichever worker drives the turn; and its mutants."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pytest

from holdfast.domain import draft as draft_module
from holdfast.domain.advice import ADVISOR, calls_past, limit_reached
from holdfast.domain.draft import Draft
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.parts import ToolResult

if TYPE_CHECKING:
    from holdfast.domain.ids import ChatId, Epoch

ADVICE_MAX: Final = 2
"""The cap of the machine."""


def check_advice(history: Sequence[Message]) -> None:
    """L113: as much advice in a turn as the cap allows, and no refusal before it."""
    given, asked = 0, 0
    for message in history:
        if message.body.role is Role.USER:
            given, asked = 0, 0
        if message.body.calls:
            asked = sum(call.tool == ADVISOR for call in message.body.calls)
        for part in message.body.parts:
            if not isinstance(part, ToolResult) or part.tool != ADVISOR:
                continue
            if _is_refusal(part):
                asked -= 1  # of the reply's own calls, those before it may still be given
                assert given + asked >= ADVICE_MAX, "L113: refused below the cap"
            elif part.failed:
                asked -= 1
            else:
                given, asked = given + 1, asked - 1
        assert given <= ADVICE_MAX, "L113: more advice than the cap"


def _is_refusal(part: ToolResult) -> bool:
    return isinstance(part.output, dict) and part.output.get("type") == "limit_reached"


# Mutants.


def advice_counted_in_memory(patch: pytest.MonkeyPatch) -> None:
    """Each worker counts what it has seen itself: a successor begins at zero."""
    found: dict[tuple[ChatId, Epoch], int] = {}

    def refuse(draft: Draft, uses_max: int) -> None:
        chat = draft.chat
        calls = sum(call.tool == ADVISOR for call in chat.open_calls)
        before = found.setdefault((chat.chat_id, chat.epoch), chat.advised - calls)
        past = calls_past(uses_max, chat.advised - before, chat.open_calls)
        if past:
            results = [limit_reached(call, uses_max) for call in past]
            draft.append_results(results, MessageBody(role=Role.TOOL, parts=()))

    patch.setattr(Draft, "refuse_advice", refuse)


def failed_advice_costs_a_use(patch: pytest.MonkeyPatch) -> None:
    """An advisor that fails uses up the cap."""

    def keeps(advised: int, _results: Sequence[ToolResult]) -> int:
        return advised

    patch.setattr(draft_module, "uses_returned", keeps)


def advice_counted_for_ever(patch: pytest.MonkeyPatch) -> None:
    """The next message of a person does not begin the count anew."""
    append_user = Draft.append_user

    def keeps(draft: Draft, *args: Any, **more: Any) -> None:
        append_user(draft, *args, **more)
        draft.set(advised=max(draft.chat.advised, draft.facts.chat.advised))

    patch.setattr(Draft, "append_user", keeps)


MUTANTS = (advice_counted_in_memory, failed_advice_costs_a_use, advice_counted_for_ever)
