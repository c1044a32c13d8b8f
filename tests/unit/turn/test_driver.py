"""A turn, step by step: what is asked, what is committed, and what it costs."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from holdfast.chats.hints import decode_inline
from holdfast.domain.chat import ATTEMPTS_MAX, ErrorKind, Status
from holdfast.domain.commands import RecordRetry, RequestCompaction, SendMessage
from holdfast.domain.errors import FenceStale
from holdfast.domain.messages import Ending, Role
from holdfast.domain.parts import JsonObject, Need, Text, ToolResult
from holdfast.ports.bus import Gap, Hint, LivePart
from holdfast.ports.models import ReasoningDelta, Route, TextDelta
from holdfast.tools.toolbox import Function, Functions
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.options import TurnOptions
from holdfast.turn.prompt import GO_ON
from tests.requirements import requirement
from tests.support.builders import asks, backoff, boundary, reply, results, system, user
from tests.support.scripted import (
    USAGE,
    End,
    Failed,
    Hold,
    Item,
    ScriptedModels,
    call,
    calls,
    says,
)
from tests.support.stage import Effects, driving, staged, until, valid


async def test_a_single_step_turn_costs_one_read_of_history_and_one_commit() -> None:
    async with staged(says("Hi", " there.")) as stage:
        chat = await stage.turn(user("hello", model="m1"))

        assert chat.status is Status.IDLE
        assert chat.worker_id is None
        assert stage.store.calls == {"page": 1, "commit": 1}
        assert await stage.said(chat) == ["user: hello", "assistant: Hi there."]
        (_, message) = await stage.history(chat)
        assert message.body.usage == USAGE.counts()
        assert message.body.cost_micros == 15
        assert message.body.model == "m1"


@pytest.mark.parametrize(
    "said", [says("Hi."), [TextDelta(0, "Half"), Failed(ErrorKind.AUTH, retryable=False)]]
)
async def test_an_answer_names_its_model_also_if_nobody_chose_one(said: list[Item]) -> None:
    async with staged(said) as stage:
        stage.models.routes[None] = Route(model="m0")
        chat = await stage.turn(user("hello"))

        assert [message.body.model for message in await stage.history(chat)] == [None, "m0"]
        assert chat.model is None, "another default goes for what is said next"
        assert [asked.model for asked in stage.models.asked] == ["m0"]


async def test_a_turn_with_tools_commits_once_per_step() -> None:
    effects = Effects()
    tools = Functions(effects.tool("a"), effects.tool("b"))
    async with staged(calls("b", "a"), says("Done."), tools=tools) as stage:
        chat = await stage.turn()

        assert stage.store.calls == {"page": 1, "commit": 3}
        assert await stage.said(chat) == [
            "user: hello",
            "assistant: let me see + ?b + ?a",
            "tool: b=did b + a=did a",
            "assistant: Done.",
        ]
        first, second = stage.models.asked
        assert [body.role for body in first.history] == [Role.USER]
        assert [body.role for body in second.history] == [Role.USER, Role.ASSISTANT, Role.TOOL]
        assert stage.counters.tool_runs == 2
        assert stage.counters.steps == 3


async def test_the_attempt_is_counted_before_the_model_is_called() -> None:
    """P3: also for every later step; a mutant that counts after the call shows here."""
    effects = Effects()
    async with staged(tools=Functions(effects.tool("a"))) as stage:
        seen: list[int] = []

        class Watching(ScriptedModels):
            def stream(self, ask: Any) -> Any:  # pyright: ignore[reportImplicitOverride]
                seen.append(stage.now(chat).attempt)
                return super().stream(ask)

        models = Watching(calls("a"), [Failed()], says("Done."))
        chat = await stage.world.running(user())
        await stage.with_models(models).drive(chat)

        assert stage.now(chat).status is Status.IDLE
        assert seen == [1, 1, 2]


async def test_the_queue_is_gone_through_turn_by_turn() -> None:
    async with staged(says("one"), says("two"), says("three")) as stage:
        chat = await stage.world.running(user("first"))
        await stage.world.do(chat.chat_id, SendMessage(user("second")))
        await stage.world.do(chat.chat_id, SendMessage(user("third")))
        chat = await stage.drive(chat)

        assert chat.status is Status.IDLE
        assert await stage.said(chat) == [
            *("user: first", "assistant: one", "user: second"),
            *("assistant: two", "user: third", "assistant: three"),
        ]
        assert stage.counters.turns == 3
        assert stage.store.calls["page"] == 1


async def test_system_sections_and_tools_are_asked_with() -> None:
    effects = Effects()
    options = TurnOptions(system=("Be kind.", "Be brief."))
    tools = Functions(effects.tool("a"))
    async with staged(says("ok"), tools=tools, options=options) as stage:
        await stage.turn(user("hello", model="m", effort="high"))

        (ask,) = stage.models.asked
        assert (ask.model, ask.effort) == ("m", "high")
        assert ask.system == ("Be kind.", "Be brief.")
        assert [spec.name for spec in ask.tools] == ["a"]


@requirement("L26")
async def test_the_prompt_begins_at_the_newest_boundary_however_long_the_history() -> None:
    old = [user("old"), reply("older")] * 8
    options = TurnOptions(page_messages_max=3)
    history = (*old, boundary("so far"), *[user("new"), reply("newer")] * 4, user("now"))
    async with staged(says("ok"), options=options) as stage:
        await stage.turn(*history)

        (ask,) = stage.models.asked
        assert [body.role for body in ask.history] == [
            Role.BOUNDARY,
            *[Role.USER, Role.ASSISTANT] * 4,
            Role.USER,
        ]
        assert stage.store.calls["page"] == 4


# Retries.


@requirement("L43", "L53")
async def test_a_failed_attempt_is_told_to_every_replica_and_its_preview_taken_back() -> None:
    async with staged([TextDelta(0, "half"), Failed()], says("whole")) as stage:
        chat = await stage.world.running(user())
        async with stage.server.open() as replica, replica.subscribe(chat.chat_id) as news:
            ended = await stage.drive(chat)
            heard: list[Hint | LivePart] = []
            async with asyncio.timeout(5):
                while not heard or getattr(heard[-1], "status", None) is not Status.IDLE:
                    item = await anext(news)
                    assert not isinstance(item, Gap)
                    heard.append(item)

        assert await stage.said(ended) == ["user: hello", "assistant: whole"]
        told = [_told(item) for item in heard]
        retry = next(index for index, item in enumerate(told) if "retry" in item)
        reset = next(index for index, item in enumerate(told) if "preview.reset" in item)
        first = [index for index, item in enumerate(told) if item == "part of attempt 1"]
        second = [index for index, item in enumerate(told) if item == "part of attempt 2"]
        assert max(first) < retry < reset < min(second)


def _told(item: Hint | LivePart) -> str:
    if isinstance(item, LivePart):
        return f"part of attempt {item.episode.attempt}"
    inline = decode_inline(item.inline)
    assert inline is not None
    waits = ["retry"] if any(b'"retry":{' in event.data for event in inline.events) else []
    return " ".join([*(event.kind for event in inline.events), *waits])


@requirement("L46")
async def test_the_delay_slept_is_the_delay_stored() -> None:
    async with staged([Failed(retry_after_s=0.08)], says("ok")) as stage:
        chat = await stage.world.running(user())
        loop = asyncio.get_running_loop()
        async with driving(stage, chat):
            await until(lambda: stage.now(chat).backoff is not None)
            shown = stage.now(chat).backoff
            seen_s = loop.time()
            await until(lambda: stage.now(chat).backoff is None)
            slept_s = loop.time() - seen_s
        assert shown is not None
        assert shown.delay_ms == 80
        assert slept_s == pytest.approx(0.08, abs=0.005)


@requirement("L52", "P3")
async def test_attempts_are_bounded_and_the_last_error_is_told() -> None:
    async with staged(*[[Failed()]] * ATTEMPTS_MAX) as stage:
        chat = await stage.turn()

        assert chat.status is Status.FAILED
        assert chat.error is not None
        assert chat.error.kind is ErrorKind.OVERLOADED
        assert stage.counters.attempts == ATTEMPTS_MAX
        assert stage.counters.failures == {ErrorKind.OVERLOADED: 1}


@requirement("L52", "P3")
async def test_a_chat_that_kills_its_workers_fails_after_as_many() -> None:
    async with staged(*[[Hold()]] * ATTEMPTS_MAX) as stage:
        chat = await stage.world.running(user())
        for _ in range(ATTEMPTS_MAX):
            async with asyncio.TaskGroup() as group:
                task = group.create_task(stage.drive(chat))
                asked = len(stage.models.asked)
                await until(lambda asked=asked: len(stage.models.asked) > asked)
                task.cancel()
            chat = await stage.again(await stage.world.load(chat.chat_id))
        ended = await stage.drive(chat)

        assert ended.status is Status.FAILED
        assert ended.error is not None
        assert ended.error.retryable
        assert len(stage.models.asked) == ATTEMPTS_MAX


@requirement("L56")
async def test_our_own_deadline_is_not_retried_by_the_driver() -> None:
    error = Failed(ErrorKind.TIMEOUT, retryable=True, own_deadline=True)
    async with staged([error]) as stage:
        chat = await stage.turn()

        assert chat.status is Status.FAILED


async def test_what_was_said_before_an_error_for_good_is_kept() -> None:
    error = Failed(ErrorKind.CONTENT_FILTER, retryable=False)
    async with staged([TextDelta(0, "I would "), TextDelta(0, " "), error]) as stage:
        chat = await stage.turn()

        assert chat.status is Status.FAILED
        assert chat.error is not None
        assert chat.error.kind is ErrorKind.CONTENT_FILTER
        assert await stage.said(chat) == ["user: hello", "assistant (cut): I would  "]
        assert stage.store.calls["commit"] == 1


@requirement("P1")
async def test_a_stream_that_ends_in_silence_is_no_answer() -> None:
    async with staged([TextDelta(0, "half")], says("whole")) as stage:
        chat = await stage.turn()

        assert await stage.said(chat) == ["user: hello", "assistant: whole"]
        assert stage.counters.retries == 1


async def test_a_successor_waits_the_rest_of_a_backoff_and_begins_an_attempt() -> None:
    async with staged(says("ok")) as stage:
        chat = await stage.world.running(user())
        wait = backoff()
        await stage.world.drive(chat, RecordRetry(wait))
        found = await stage.again(await stage.world.load(chat.chat_id))
        assert found.backoff == wait
        assert found.attempt == 1
        stage.world.clock.advance(wait.until - stage.world.clock.now() - timedelta(seconds=0.05))
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        ended = await stage.drive(found)

        assert ended.status is Status.IDLE
        assert loop.time() - began_s == pytest.approx(0.05, abs=0.005)
        assert stage.store.calls == {"page": 1, "commit": 2}


# Steps that are not replies.


@pytest.mark.parametrize("need", [Need.APPROVAL, Need.LOGIN, Need.RESULT, Need.ANSWER])
async def test_calls_that_need_somebody_outside_wait_for_them(need: Need) -> None:
    effects = Effects()
    options = TurnOptions(await_s={need: 60.0})
    tools = Functions(effects.tool("a", needs=need))
    async with staged(calls("a"), tools=tools, options=options) as stage:
        chat = await stage.turn()

        assert chat.status is Status.AWAITING
        assert chat.worker_id is None
        assert chat.awaiting is not None
        assert chat.awaiting.kind is need
        assert chat.awaiting.deadline == stage.world.clock.now() + timedelta(seconds=60)
        assert effects.done == []
        assert stage.store.calls["commit"] == 1


async def test_a_call_that_nobody_could_answer_is_answered_at_once() -> None:
    effects = Effects()
    function = effects.tool("a", needs=Need.ANSWER)

    def fault(_arguments: JsonObject) -> str:
        return "Error: nothing was asked."

    spec = replace(function.spec, fault=fault)
    tools = Functions(Function(spec, function.run))
    async with staged(calls("a"), says("ok"), tools=tools) as stage:
        chat = await stage.turn()

        assert chat.status is Status.IDLE
        (_, message, *_) = (await stage.history(chat))[1:]
        (result,) = message.body.parts
        assert isinstance(result, ToolResult)
        assert (result.output, result.failed) == ("Error: nothing was asked.", True)
        assert effects.done == []


async def test_a_model_that_only_thinks_is_asked_twice_and_not_for_ever() -> None:
    thought = [ReasoningDelta(0, "Let me see."), End(Ending.LENGTH)]
    async with staged(thought, thought) as stage:
        chat = await stage.turn()

        assert chat.status is Status.FAILED
        assert chat.error is not None
        assert chat.error.kind is ErrorKind.USAGE_LIMIT
        assert "whole output for thinking, 2 times in a row" in chat.error.sentence
        assert len(stage.models.asked) == 2


async def test_failure_with_its_own_limit_is_tried_once_more() -> None:
    garbled = [Failed(ErrorKind.UNKNOWN, attempts_max=2)]
    async with staged(garbled, garbled) as stage:
        chat = await stage.turn()

        assert chat.status is Status.FAILED
        assert len(stage.models.asked) == 2
    async with staged(garbled, says("ok")) as stage:
        assert (await stage.turn()).status is Status.IDLE


async def test_a_reply_cut_by_a_limit_is_gone_on_with() -> None:
    first = [TextDelta(0, "The answ"), End(Ending.CUT)]
    async with staged(first, says("er.")) as stage:
        chat = await stage.turn()

        assert await stage.said(chat) == [
            "user: hello",
            "assistant (cut): The answ",
            "assistant: er.",
        ]
        nudge = stage.models.asked[1].history[-1]
        assert nudge.role is Role.USER
        assert nudge.parts == (Text(GO_ON),)


async def test_a_paused_reply_is_replayed_as_it_is() -> None:
    async with staged([TextDelta(0, "a"), End(Ending.PAUSED)], says("b")) as stage:
        await stage.turn()

        assert [body.role for body in stage.models.asked[1].history] == [Role.USER, Role.ASSISTANT]


@requirement("L18")
async def test_a_compaction_marks_where_things_stand_and_the_turn_goes_on() -> None:
    summary = says("1. Asked: ", "all of it.")
    async with staged(says("first"), summary, says("second")) as stage:
        chat = await stage.turn(system("be brief"), user("hello"))
        await stage.world.do(chat.chat_id, RequestCompaction())
        chat = await stage.drive(await stage.again(chat))
        assert chat.status is Status.IDLE
        assert not chat.compactable
        assert (await stage.said(chat))[-2:] == [
            "boundary: 1. Asked: all of it. + context",
            "system: be brief",
        ]
        assert stage.counters.compactions == 1
        await stage.world.do(chat.chat_id, SendMessage(user("next")))
        chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))
        roles = [body.role for body in stage.models.asked[2].history]
        assert roles == [Role.BOUNDARY, Role.SYSTEM, Role.USER]


async def test_a_compaction_that_fails_for_good_fails_the_turn() -> None:
    async with staged(says("hi"), [Failed(ErrorKind.AUTH, retryable=False)]) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, RequestCompaction())
        chat = await stage.drive(await stage.again(chat))

        assert chat.status is Status.FAILED
        assert await stage.said(chat) == ["user: hello", "assistant: hi"]


# Our own mistakes.


@requirement("L55")
async def test_a_bug_in_a_step_leaves_a_defined_status_and_keeps_what_was_said() -> None:
    async with staged([TextDelta(0, "so far"), RuntimeError("bug")]) as stage:
        chat = await stage.turn()

        assert chat.status is Status.FAILED
        assert chat.worker_id is None
        assert chat.error is not None
        assert chat.error.kind is ErrorKind.UNKNOWN
        assert "bug" not in chat.error.sentence
        assert await stage.said(chat) == ["user: hello", "assistant (cut): so far"]
        assert stage.counters.bugs == 1


@requirement("L55")
async def test_words_that_cannot_be_stored_do_not_keep_the_chat_from_a_status() -> None:
    async with staged([TextDelta(0, "so far"), RuntimeError("bug")]) as stage:

        def refuse(verb: str, number: int) -> str | None:
            if verb == "commit" and number == 1:
                raise TypeError("cannot be stored")
            return None

        stage.store.trouble = refuse
        chat = await stage.turn()

        assert chat.status is Status.FAILED
        assert await stage.said(chat) == ["user: hello"]


async def test_somebody_else_who_drives_the_chat_ends_our_drive() -> None:
    async with staged([TextDelta(0, "late"), hold := Hold(), End()], says("new")) as stage:
        chat = await stage.world.running(user())
        async with asyncio.TaskGroup() as group:
            task = group.create_task(_stale(stage.drive(chat)))
            await until(lambda: stage.shown(chat) == "late")
            found = await stage.again(chat)
            other = stage.with_models(ScriptedModels(says("theirs")))
            ended = await other.drive(found)
            hold.until.set()
            assert await task
        assert await stage.said(ended) == [
            *("user: hello", "assistant (cut): late", "assistant: theirs"),
        ]
        stage.models.stream(stage.models.asked[0])


async def _stale(drive: Awaitable[object]) -> bool:
    try:
        await drive
    except FenceStale:
        return True
    return False


# Odd replies.


async def test_unknown_tools_and_broken_arguments_are_answered_and_never_run() -> None:
    effects = Effects()
    broken = [*call(0, "a", "c1", '{"n": '), *call(1, "a", "c2"), *call(2, "nope", "c3"), End()]
    async with staged(broken, says("ok"), tools=Functions(effects.tool("a"))) as stage:
        chat = await stage.turn()

        assert effects.done == ["c2"]
        history = await stage.history(chat)
        assert valid(history) == []
        answers = {
            str(part.call_id): part
            for message in history
            for part in message.body.parts
            if isinstance(part, ToolResult)
        }
        assert answers["c1"].failed
        assert '{"n": ' in str(answers["c1"].output)
        assert answers["c3"].failed
        assert "'nope'" in str(answers["c3"].output)
        assert not answers["c2"].failed


async def test_call_ids_that_repeat_are_made_unique() -> None:
    effects = Effects()
    twice = [*call(0, "a", "x"), *call(1, "a", "x"), End()]
    async with staged(
        twice, [*call(0, "a", "x"), End()], says("ok"), tools=Functions(effects.tool("a"))
    ) as stage:
        chat = await stage.turn()

        assert effects.done == ["x", "x_2", "x_3"]
        assert valid(await stage.history(chat)) == []


async def test_an_attempt_begun_by_acquiring_is_not_begun_again() -> None:
    async with staged(says("ok")) as stage:
        chat = await stage.world.running(user(), asks("c1"), results("c1"))
        assert chat.attempt == 1
        nudges = Interrupts(chat)
        await stage.drive(chat, nudges)

        assert stage.store.calls == {"page": 1, "commit": 1}
