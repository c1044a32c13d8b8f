"""What must hold of plan mode, whatever happens to the chat; and its mutants.

The words of a message tell which mode it asks for, so that an edit, a queue and a repeat lead to
the mode that the person chose, whatever was stored.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from holdfast.domain import commands as c
from holdfast.domain import draft as draft_module
from holdfast.domain.chat import Chat, Status
from holdfast.domain.draft import Draft
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.parts import Text, ToolResult
from holdfast.domain.plan_mode import PROPOSE_PLAN
from tests.support.builders import user

_MODES: Final[dict[str, bool | None]] = {"": None, " (plan)": True, " (act)": False}


def says(text: str, number: int) -> MessageBody:
    """A message of a person. Some turn plan mode on, some turn it off, some leave it as it is."""
    words = list(_MODES)[number % len(_MODES)]
    return user(text + words, plan_mode=_MODES[words])


def _mode_of(message: Message) -> bool | None:
    (text,) = message.body.parts
    assert isinstance(text, Text)
    return next(mode for words, mode in reversed(_MODES.items()) if text.text.endswith(words))


def check_mode(before: Chat, after: Chat, history: Sequence[Message]) -> None:
    """A message that begins a turn decides the mode of it; nothing else does. A version that is
    restored has messages with new numbers, and no turn: the chat stays in the mode that it is in.

    `history`: as of `after`."""
    begun = next((m for m in history if m.seq == after.turn_seq), None)
    wanted = before.plan_mode
    is_new = after.turn_seq != before.turn_seq and after.status is not Status.IDLE
    if is_new and begun is not None and begun.seq > before.last_seq:
        asked = _mode_of(begun)
        assert begun.body.plan_mode is asked, "F18: a message forgot its mode"
        wanted = wanted if asked is None else asked
    assert after.plan_mode is wanted, "F18: the mode is not that of the newest message"


def check_proposal(after: Chat, commands: Sequence[c.Command]) -> None:
    """A plan that is there ends the turn; one that failed does not."""
    results = [
        part
        for command in commands
        if isinstance(command, c.CommitStep)
        for body in command.messages
        for part in body.parts
        if isinstance(part, ToolResult)
    ]
    if results and not after.open_calls and after.last_seq != after.turn_seq:
        planned = any(map(_is_plan, results))
        assert after.owes_reply is not planned, "F18: a turn ends with its plan"


def check_plans(history: Sequence[Message]) -> None:
    """The model is never asked about its plan."""
    waiting, proposed = 0, False
    for message in history:
        role = message.body.role
        if role is Role.USER:
            proposed = False
        if role is Role.ASSISTANT:
            assert not proposed, "F18: the model was asked about its plan"
            waiting = len(message.body.calls)
        if role is Role.TOOL:
            waiting -= len(message.body.parts)
            proposed = not waiting and any(map(_is_plan, message.body.parts))


def _is_plan(part: object) -> bool:
    return isinstance(part, ToolResult) and part.tool == PROPOSE_PLAN and not part.failed


# Mutants.


def plan_does_not_end_the_turn(patch: pytest.MonkeyPatch) -> None:
    """The model is asked about the plan that a person is to read."""

    def ends(_result: ToolResult) -> bool:
        return False

    patch.setattr(draft_module, "ends_turn", ends)


def failed_plan_ends_the_turn(patch: pytest.MonkeyPatch) -> None:
    """A plan that is not there ends the turn: the model cannot write it any more."""

    def ends(result: ToolResult) -> bool:
        return result.tool == PROPOSE_PLAN

    patch.setattr(draft_module, "ends_turn", ends)


def queued_message_has_no_mode(patch: pytest.MonkeyPatch) -> None:
    """A message that waited goes on in the mode of the turn before it."""
    append_user = Draft.append_user

    def forgets(draft: Draft, body: MessageBody, **more: Any) -> None:
        append_user(draft, replace(body, plan_mode=None) if "promoted" in more else body, **more)

    patch.setattr(Draft, "append_user", forgets)


def mode_ends_with_its_turn(patch: pytest.MonkeyPatch) -> None:
    """The answer to a question about the plan changes files."""
    release = Draft.release

    def ends(draft: Draft, status: Status) -> None:
        release(draft, status)
        draft.set(plan_mode=False)

    patch.setattr(Draft, "release", ends)


MUTANTS = (
    plan_does_not_end_the_turn,
    failed_plan_ends_the_turn,
    queued_message_has_no_mode,
    mode_ends_with_its_turn,
)
