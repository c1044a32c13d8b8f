"""The cap of the advisor: a fact of the chat, counted by the commits that happen anyway."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.domain import commands as c
from holdfast.domain.advice import ADVISED_MAX, ADVISOR, remaining_uses
from holdfast.domain.chat import Chat, Facts, Status
from holdfast.domain.decide import decide_all
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.outcome import Outcome
from holdfast.domain.parts import ToolResult
from tests.requirements import requirement
from tests.support.builders import NOW, a_chat, asks, reply, user

RUNNING = a_chat(Status.RUNNING)


def decided(chat: Chat, *commands: c.Command) -> Outcome:
    return decide_all(Facts(chat=chat), commands, NOW)


def after(chat: Chat, *commands: c.Command) -> Chat:
    return decided(chat, *commands).chat


def asked(*call_ids: str, advice_max: int | None = 2, **more: Any) -> c.CommitStep:
    return c.CommitStep((asks(*call_ids, tool=ADVISOR, **more),), advice_max=advice_max)


def answered(call_id: str, *, failed: bool = False) -> c.CommitStep:
    part = ToolResult(CallId(call_id), ADVISOR, "words", failed=failed)
    return c.CommitStep((MessageBody(role=Role.TOOL, parts=(part,)),))


@requirement("L113")
def test_calls_are_counted_until_the_next_message_of_a_person() -> None:
    chat = after(RUNNING, asked("a"), answered("a"), asked("b"))
    assert chat.advised == 2
    chat = after(chat, answered("b"), c.CommitStep((reply(),)), c.FinishTurn())
    assert chat.advised == 2
    assert after(chat, c.SendMessage(user("more"))).advised == 0


@requirement("L113")
def test_a_call_past_the_cap_is_refused_in_the_commit_of_its_reply() -> None:
    full = after(RUNNING, asked("a"), answered("a"), asked("b"), answered("b"))
    outcome = decided(full, asked("c"))
    assert [each.body.role for each in outcome.appended] == [Role.ASSISTANT, Role.TOOL]
    (part,) = outcome.appended[1].body.parts
    assert isinstance(part, ToolResult)
    assert part.failed
    assert part.output == {
        "type": "limit_reached",
        "message": "The advisor was not asked: it has been used 2 times since the user last "
        "spoke, which is the limit. Decide without it.",
        "model": None,
        "remaining_uses": 0,
        "usage": None,
    }
    assert (outcome.chat.advised, outcome.chat.open_calls) == (2, ())


def test_of_several_calls_in_one_reply_the_last_ones_are_refused() -> None:
    chat = after(RUNNING, asked("a", "b", "c"))
    assert [call.call_id for call in chat.open_calls] == ["a", "b"]
    assert chat.advised == 2


def test_a_failed_result_gives_its_use_back_once() -> None:
    chat = after(RUNNING, asked("a"), answered("a", failed=True))
    assert chat.advised == 0
    assert after(replace(chat, advised=1), asked("b"), answered("b", failed=True)).advised == 1


def test_a_reply_that_was_cut_off_costs_no_use() -> None:
    assert after(RUNNING, asked("a", ending=Ending.CUT)).advised == 0


def test_a_cap_that_was_lowered_in_the_turn_refuses_what_comes() -> None:
    chat = after(replace(RUNNING, advised=5), asked("a"))
    assert (chat.advised, chat.open_calls) == (5, ())


@pytest.mark.parametrize("advice_max", [None, 3])
def test_calls_below_the_cap_stay_open(advice_max: int | None) -> None:
    chat = after(RUNNING, asked("a", "b", advice_max=advice_max))
    assert (chat.advised, len(chat.open_calls)) == (2, 2)


def test_other_tools_are_not_counted() -> None:
    chat = after(RUNNING, c.CommitStep((asks("a"),), advice_max=0))
    assert (chat.advised, len(chat.open_calls)) == (0, 1)


def test_the_count_is_bounded() -> None:
    chat = after(replace(RUNNING, advised=ADVISED_MAX), asked("a", advice_max=None))
    assert chat.advised == ADVISED_MAX


def test_remaining_uses_are_never_below_zero() -> None:
    assert (remaining_uses(2, 5), remaining_uses(2, 1), remaining_uses(None, 5)) == (0, 1, None)
