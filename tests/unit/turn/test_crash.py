"""Whatever moment a process dies in, and whatever the database does not say: nothing twice,
nothing lost."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from holdfast.chats.changes import ChangeRequest, Commit
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Interrupt, SendMessage
from holdfast.domain.errors import Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import Role
from holdfast.domain.parts import ToolResult
from holdfast.ports.models import TextDelta
from holdfast.ports.tools import Effect
from holdfast.tools.toolbox import Functions
from holdfast.turn import call_plan, model_steps
from holdfast.turn.attempt import Generation
from holdfast.turn.call_plan import Plan, PlannedCall
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.steps import keep_partial
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.scripted import Failed, Hold, ScriptedModels, calls, says
from tests.support.stage import AT_REST, Effects, Stage, driving, staged, until, valid


def full_turn() -> ScriptedModels:
    """A failed attempt, a batch of calls, an answer."""
    script = calls("once:1", "keyed:2", "repeatable:3")
    return ScriptedModels([Failed()], script, says("All ", "done."))


def tools_of(effects: Effects) -> Functions:
    return Functions(*(effects.tool(effect.value, effect) for effect in Effect))


async def calls_of(verb: str) -> int:
    """How many calls of a verb a turn without trouble makes."""
    effects = Effects()
    async with staged(tools=tools_of(effects)) as stage:
        process = stage.with_models(full_turn())
        await process.turn()
        return process.store.calls[verb]


@requirement("X1")
@pytest.mark.parametrize("fate", ["unconfirmed", "lost"])
@pytest.mark.parametrize("number", range(1, 6))
async def test_a_commit_that_nobody_confirmed_is_there_once(fate: str, number: int) -> None:
    assert await calls_of("commit") == 5
    effects = Effects()
    async with staged(tools=tools_of(effects)) as stage:
        models = full_turn()
        process = stage.with_models(models)
        process.store.trouble = lambda verb, n: fate if (verb, n) == ("commit", number) else None
        chat = await process.turn()

        assert models.unconsumed == 0  # asked once for each, never again
        assert effects.done == ["1", "2", "3"]
        assert await stage.said(chat) == [
            "user: hello",
            "assistant: let me see + ?1 + ?2 + ?3",
            "tool: 1=did 1 + 2=did 2 + 3=did 3",
            "assistant: All done.",
        ]
        stored = await stage.world.load(chat.chat_id)
        assert stored.status is Status.IDLE
        assert stored.version == 1 + 1 + 5  # created, acquired, and each commit once
        assert process.counters.uncertain_commits == 1


@pytest.mark.parametrize("fate", ["unconfirmed", "lost"])
async def test_every_commit_unconfirmed_and_every_second_read_lost(fate: str) -> None:
    effects = Effects()
    async with staged(tools=tools_of(effects)) as stage:
        models = full_turn()
        process = stage.with_models(models)

        def trouble(verb: str, n: int) -> str | None:
            if verb == "commit":
                return fate if n % 2 else None
            return "lost" if n % 2 else None

        process.store.trouble = trouble
        chat = await process.turn()

        assert models.unconsumed == 0
        assert effects.done == ["1", "2", "3"]
        assert len(await stage.history(chat)) == 4
        assert (await stage.world.load(chat.chat_id)).status is Status.IDLE


@pytest.mark.parametrize("fate", ["unconfirmed", "lost"])
@pytest.mark.parametrize("number", range(1, 3))
async def test_an_interrupt_whose_commit_was_not_confirmed_is_finished_once(
    fate: str, number: int
) -> None:
    async with staged([TextDelta(0, "so far"), Hold()]) as stage:
        chat = await stage.world.running(user())
        stage.store.trouble = lambda verb, n: fate if (verb, n) == ("commit", number) else None
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) == "so far")
            await stage.interrupt(chat, nudges)
        ended = await stage.world.load(task.result().chat_id)

        assert ended.status is Status.IDLE
        assert await stage.said(ended) == ["user: hello", "assistant (interrupted): so far"]


async def test_a_database_that_stays_away_ends_our_patience_and_nothing_is_lost() -> None:
    async with staged() as stage:
        models = ScriptedModels(says("hi"))
        process = stage.with_models(models, patience_s=0.05)
        chat = await stage.world.running(user())
        process.store.trouble = lambda verb, n: "lost" if verb == "commit" else None
        with pytest.raises(Unavailable):
            await process.drive(chat)

        further = stage.with_models(ScriptedModels(says("hi again")))
        ended = await further.drive(await further.again(await stage.world.load(chat.chat_id)))
        assert await stage.said(ended) == [
            *("user: hello", "assistant (cut): hi", "assistant: hi again"),
        ]


# A crash at every moment.


async def die_after(stage: Stage, chat: Chat, rounds: int) -> bool:
    """Drive for so many rounds of the loop, then die; whether it came to its end before."""
    nudges = Interrupts(chat)
    ended = False
    async with asyncio.TaskGroup() as group:
        task = group.create_task(stage.driver.drive(chat, nudges))
        for _ in range(rounds):
            if task.done():
                ended = True
                break
            await asyncio.sleep(0)
        task.cancel()
    return ended


async def rescued(stage: Stage, chat: Chat, models: Callable[[], ScriptedModels]) -> Chat:
    """Drive on as somebody else, if anything is left to do."""
    chat = await stage.world.load(chat.chat_id)
    if chat.status in AT_REST:
        return chat
    return await stage.with_models(models()).drive(await stage.again(chat))


class Willing(ScriptedModels):
    """Answers whatever is asked: which step a successor finds, depends on the moment."""

    def stream(self, ask: Any) -> Any:  # pyright: ignore[reportImplicitOverride]
        results = any(body.role is Role.TOOL for body in ask.history)
        self._scripts.append(says("Fine.") if results else calls("once:1", "keyed:2"))
        return super().stream(ask)


@requirement("X1", "L116")
async def test_a_crash_at_any_moment_of_a_turn_leaves_a_whole_history() -> None:
    """Every round of the event loop is a place to die in; 0 once-effects twice."""
    survived = False
    rounds = 0
    dead = 0
    while not survived:
        effects = Effects()
        async with staged(tools=tools_of(effects)) as stage:
            chat = await stage.world.running(user())
            survived = await die_after(stage.with_models(Willing()), chat, rounds)
            ended = await rescued(stage, chat, Willing)

            assert ended.status is Status.IDLE, rounds
            history = await stage.history(ended)
            assert valid(history) == [], rounds
            assert effects.done.count("1") <= 1, rounds
            unknown = [p for m in history for p in m.body.parts if isinstance(p, ToolResult)]
            assert [part.call_id for part in unknown] == ["1", "2"], rounds
            assert sum(m.body.role is Role.USER for m in history) == 1
        rounds += 1
        dead += not survived
    assert dead > 40


def _is_shown(stage: Stage, chat: Chat) -> bool:
    return stage.shown(chat) == "seen "


@requirement("M4")
async def test_a_crash_at_any_moment_of_an_interrupt_keeps_what_was_shown() -> None:
    survived = False
    rounds = 0
    while not survived:
        async with staged() as stage:
            chat = await stage.world.running(user())
            process = stage.with_models(ScriptedModels([TextDelta(0, "seen "), Hold()]))
            nudges = Interrupts(chat)
            async with asyncio.TaskGroup() as group:
                task = group.create_task(process.driver.drive(chat, nudges))
                await until(partial(_is_shown, process, chat))
                await process.interrupt(chat, nudges)
                for _ in range(rounds):
                    if task.done():
                        survived = True
                        break
                    await asyncio.sleep(0)
                task.cancel()
            ended = await rescued(stage, chat, ScriptedModels)

            assert ended.status is Status.IDLE
            assert await stage.said(ended) == ["user: hello", "assistant (interrupted): seen "]
        rounds += 1
    assert rounds > 10


async def test_a_second_interrupt_and_an_urgent_message_change_nothing_of_it() -> None:
    async with staged([TextDelta(0, "seen"), Hold()], says("new")) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) == "seen")
            await stage.world.do(chat.chat_id, Interrupt())
            await stage.world.do(chat.chat_id, Interrupt())
            await stage.interrupt(chat, nudges, SendMessage(user("more"), "interrupt"))
        assert await stage.said(task.result()) == [
            *("user: hello", "assistant (interrupted): seen", "user: more", "assistant: new"),
        ]


# Mutants: each is a mistake that the tests above were seen to catch.


def blind_plan(turn: Any, prompt: Any, toolbox: Any, calls: Any, _rules: Any) -> Plan:
    """Every open call is run, whoever may have started it before."""
    runs = [
        PlannedCall(call, toolbox.specs[call.tool], open_call, again=False)
        for open_call in calls
        for call in prompt.asked_beside(open_call)
        if call.call_id == open_call.call_id
    ]
    return Plan((), tuple(runs))


async def test_the_mutant_that_reruns_tools_blindly_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert call_plan.plan is not blind_plan
    monkeypatch.setattr("holdfast.turn.steps.run_tools.plan", blind_plan)
    with pytest.raises(AssertionError, match="2 <= 1"):
        await test_a_crash_at_any_moment_of_a_turn_leaves_a_whole_history()


async def test_the_mutant_that_drops_the_partial_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing(*_: Any) -> None:
        return None

    monkeypatch.setattr(keep_partial, "said_before", nothing)
    with pytest.raises(AssertionError, match="seen"):
        await test_a_crash_at_any_moment_of_an_interrupt_keeps_what_was_shown()


async def test_the_mutant_that_counts_the_attempt_after_the_call_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from holdfast.domain.commands import BeginAttempt
    from tests.unit.turn.test_driver import (
        test_the_attempt_is_counted_before_the_model_is_called as named_test,
    )

    attempt = Generation.attempt

    async def only_wait(session: Any, _refusal: Any) -> bool:
        turn = session.turn
        turn.counting = session
        if turn.chat.backoff is not None:
            await model_steps.wait_out(session, turn.chat.backoff)
        return True

    async def attempt_then_count(self: Any, turn: Any, ask: Any, **more: Any) -> Any:
        begun = turn.is_begun
        heard = await attempt(self, turn, ask, **more)
        if not begun:
            await turn.counting.commit(BeginAttempt())
        return heard

    monkeypatch.setattr(model_steps, "begin", only_wait)
    monkeypatch.setattr(Generation, "attempt", attempt_then_count)
    with pytest.raises(AssertionError, match=r"\[1, 1, 1\] == \[1, 1, 2\]"):
        await named_test()


async def test_the_mutant_that_repeats_an_unconfirmed_commit_blindly_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fence already keeps doubles out; what shows is a turn that does not come to its end."""
    transact = Ledger.transact

    async def forgetful(self: Any, chat_id: ChatId, request: ChangeRequest) -> Commit:
        try:
            return await transact(self, chat_id, request)
        except Unavailable:
            chat = (await self._store.load(chat_id)).facts.chat
            again = replace(request, by=Fence.of(chat), snapshot=chat)
            return await transact(self, chat_id, again)

    monkeypatch.setattr(Ledger, "transact", forgetful)
    with pytest.raises(AssertionError):
        await test_a_commit_that_nobody_confirmed_is_there_once("unconfirmed", 3)
