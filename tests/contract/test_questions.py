"""Questions to a person: answered once, checked, whatever happened meanwhile."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from holdfast.chats import answer, questions, steer
from holdfast.chats.changes import Commit
from holdfast.domain.chat import AWAITED_BYTES_MAX, Chat, Status
from holdfast.domain.commands import Await, CommitStep
from holdfast.domain.errors import AnswerNotValid, CallNotOpen, CommandRefused, NotLawful
from holdfast.domain.ids import CallId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Need, ToolCall, ToolResult
from holdfast.domain.questions import ASK_USER
from tests.requirements import requirement
from tests.support.builders import result, user
from tests.support.world import ACTOR, World

C1, C2 = CallId("c1"), CallId("c2")
WHICH: dict[str, Any] = {
    "question": "Which?",
    "options": [{"label": "PostgreSQL"}, {"label": "SQLite"}],
}
CHOSEN: dict[str, Any] = {"answers": [{"chosen": ["SQLite"], "text": "For now."}]}
READ: dict[str, Any] = {
    "answers": [{"question": "Which?", "chosen": ["SQLite"], "text": "For now."}]
}


async def asked(world: World, *more: ToolCall, filler: str = "") -> Chat:
    """A chat that waits for the answer to one question, and to those of `more`."""
    chat = await world.running(user())
    first = ToolCall(C1, ASK_USER, {"questions": [WHICH], "filler": filler}, Need.ANSWER)
    calls = (first, *more)
    step = CommitStep((MessageBody(role=Role.ASSISTANT, parts=calls),))
    ids = tuple(call.call_id for call in calls)
    return (await world.drive(chat, step, Await(Need.ANSWER, ids))).chat


def said(output: Any, call_id: CallId = C1) -> ToolResult:
    return ToolResult(call_id, ASK_USER, output, runs_at="client")


async def answered(world: World, chat: Chat, *results: ToolResult) -> Commit:
    """As the route does, which loaded the chat as `chat`."""
    given = await questions.checked(world.history, chat, results)
    try:
        return await answer.submit_results(world.ledger, ACTOR, chat.chat_id, given)
    except (CallNotOpen, NotLawful) as refused:
        ids = {each.call_id for each in results}
        raise await questions.why_closed(world.history, refused, ids) from None


def outputs(commit: Commit) -> list[Any]:
    return [p.output for m in commit.messages for p in m.body.parts if isinstance(p, ToolResult)]


@requirement("F18")
async def test_an_answer_is_the_result_of_the_call_and_the_turn_goes_on(world: World) -> None:
    chat = await asked(world)
    assert (chat.status, chat.worker_id) == (Status.AWAITING, None)
    assert chat.awaiting is not None
    assert chat.awaiting.deadline is None, "a person answers when there is time"
    commit = await answered(world, chat, said(CHOSEN))
    assert commit.chat.status is Status.RUNNING
    assert outputs(commit) == [READ]
    assert await world.violations([chat.chat_id]) == []


async def test_an_answer_that_does_not_fit_changes_nothing(world: World) -> None:
    chat = await asked(world)
    with pytest.raises(AnswerNotValid):
        await answered(world, chat, said({"answers": [{"chosen": ["Oracle"]}]}))
    assert await world.load(chat.chat_id) == chat
    assert outputs(await answered(world, chat, said("MariaDB"))) == [
        {"answers": [{"question": "Which?", "text": "MariaDB"}]}
    ]


async def test_that_there_is_no_answer_may_be_said_in_any_form(world: World) -> None:
    chat = await asked(world)
    declined = replace(said({"why": "No person is there."}), failed=True)
    assert outputs(await answered(world, chat, declined)) == [{"why": "No person is there."}]


async def test_a_call_of_another_tool_that_a_person_answers_takes_any_output(world: World) -> None:
    other = ToolCall(C2, "other", {}, Need.ANSWER)
    chat = await asked(world, other)
    first = await answered(world, chat, replace(result("c2"), tool="other"))
    assert first.chat.status is Status.AWAITING
    assert outputs(await answered(world, first.chat, said(CHOSEN))) == [READ]


async def test_long_questions_are_read_from_their_message(world: World) -> None:
    chat = await asked(world, filler="x" * AWAITED_BYTES_MAX)
    assert chat.open_calls[0].arguments is None
    assert outputs(await answered(world, chat, said(CHOSEN))) == [READ]


@requirement("F18")
async def test_of_two_answers_at_once_one_counts_and_the_other_is_told_so(world: World) -> None:
    chat = await asked(world)
    both = (answered(world, chat, said("first")), answered(world, chat, said("second")))
    done = await asyncio.gather(*both, return_exceptions=True)
    (commit,) = (each for each in done if isinstance(each, Commit))
    (refused,) = (each for each in done if isinstance(each, CommandRefused))
    assert refused.sentence == "The call is answered already."
    assert commit.chat.status is Status.RUNNING
    results = [
        p for m in await world.read(chat.chat_id) for p in m.body.parts if p.kind == "tool_result"
    ]
    assert len(results) == 1


async def test_an_answer_after_one_to_the_same_call_is_told_so_while_others_wait(
    world: World,
) -> None:
    chat = await asked(world, ToolCall(C2, ASK_USER, {"questions": [WHICH]}, Need.ANSWER))
    await answered(world, chat, said(CHOSEN))
    with pytest.raises(CallNotOpen) as refused:
        await answered(world, chat, said(CHOSEN))
    assert refused.value.sentence == "The call is answered already."


@requirement("F18")
async def test_stop_cancels_the_question_and_an_answer_is_told_so(world: World) -> None:
    chat = await asked(world)
    stopped = await steer.interrupt(world.ledger, ACTOR, chat.chat_id)
    assert (stopped.chat.status, stopped.chat.open_calls) == (Status.IDLE, ())
    with pytest.raises(NotLawful) as refused:
        await answered(world, chat, said(CHOSEN))
    assert refused.value.sentence == "The call was cancelled before this answer came."


async def test_an_answer_to_what_never_was_is_refused_as_before(world: World) -> None:
    chat = await asked(world)
    with pytest.raises(CallNotOpen) as refused:
        await answered(world, chat, said(CHOSEN, CallId("other")))
    assert "does not wait for this" in refused.value.sentence
