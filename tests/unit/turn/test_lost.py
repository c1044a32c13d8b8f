"""The transcript is told of a lost worker with the first message that its successor commits."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from holdfast.domain.chat import Chat, LostWorkers, Status
from holdfast.domain.commands import EditMessage, Interrupt, SendMessage
from holdfast.domain.fence import Fence
from holdfast.domain.ids import CallId, Seq
from holdfast.domain.messages import CallFate, Ending, InheritedCall, Message, Role, Takeover
from holdfast.domain.parts import Need, Synthetic, ToolResult
from holdfast.ports.models import TextDelta
from holdfast.ports.tools import Effect
from holdfast.tools.toolbox import Functions
from holdfast.turn import lost as lost_module
from tests.requirements import requirement
from tests.support.builders import NOW, user
from tests.support.scripted import Failed, Hold, ScriptedModels, calls, says
from tests.support.stage import QUICK, Effects, Stage, driving, staged, until
from tests.unit.turn.test_crash import die_after, rescued

OPTIONS = replace(QUICK, lease_s=7.0)
"""A lease that lapsed a second ago (`World.lapse`) was renewed eight seconds ago."""
FOUND = Takeover(attempt=2, lost_workers=1, after_s=8)


def told(history: tuple[Message, ...]) -> dict[int, Takeover]:
    """Which messages say that a worker was lost."""
    return {m.seq: m.body.takeover for m in history if m.body.takeover is not None}


async def dies(
    stage: Stage, models: ScriptedModels, when: Callable[[], bool], chat: Chat | None = None
) -> Chat:
    """Drive until something is so, and die; the chat as a successor acquires it."""
    chat = chat or await stage.world.running(user())
    process = stage.with_models(models)
    async with driving(process, chat) as (task, _):
        await until(lambda: process.counters.attempts + process.counters.tool_runs > 0 and when())
        await stage.bus_is_quiet()
        task.cancel()
    return await stage.again(await stage.world.load(chat.chat_id))


async def dies_silent(stage: Stage, chat: Chat | None = None) -> Chat:
    return await dies(stage, ScriptedModels([Hold()]), lambda: True, chat)


async def dies_speaking(stage: Stage) -> Chat:
    chat = await stage.world.running(user())
    script = [TextDelta(0, "so far "), Hold()]
    return await dies(stage, ScriptedModels(script), lambda: stage.shown(chat) == "so far ", chat)


async def dies_in_tools(stage: Stage, effects: Effects, *names: str) -> Chat:
    """In the middle of all of these calls; those of the successor come to their end."""
    started = {name.split(":")[1] for name in names if not name.startswith("ask")}
    effects.gated = tuple(name.split(":")[0] for name in names)
    chat = await dies(stage, ScriptedModels(calls(*names)), lambda: set(effects.done) >= started)
    effects.gate.set()
    return chat


# In the middle of a reply.


@requirement("L153")
async def test_words_that_are_kept_say_that_a_worker_was_lost() -> None:
    async with staged(options=OPTIONS) as stage:
        found = await dies_speaking(stage)
        assert found.lost is not None
        ended = await stage.with_models(ScriptedModels(says("and on"))).drive(found)

        history = await stage.history(ended)
        assert told(history) == {2: replace(FOUND, attempt=1, kept=True)}
        assert history[1].attempt == 1, "readers were shown these words under the lost attempt"
        assert history[1].body.ending is Ending.CUT
        assert ended.lost is None
        assert await stage.world.load(ended.chat_id) == ended


async def test_a_reply_that_was_made_anew_says_so_too() -> None:
    async with staged(options=OPTIONS) as stage:
        found = await dies_silent(stage)
        ended = await stage.with_models(ScriptedModels(says("hi"))).drive(found)

        assert await stage.said(ended) == ["user: hello", "assistant: hi"]
        assert told(await stage.history(ended)) == {2: FOUND}
        assert [m.attempt for m in await stage.history(ended)] == [None, 2]


async def test_only_the_first_message_of_a_successor_says_it() -> None:
    effects = Effects()
    async with staged(tools=Functions(effects.tool("a")), options=OPTIONS) as stage:
        found = await dies_silent(stage)
        ended = await stage.with_models(ScriptedModels(calls("a:1"), says("hi"))).drive(found)

        assert len(await stage.history(ended)) == 4
        assert told(await stage.history(ended)) == {2: FOUND}


async def test_two_lost_workers_are_told_as_two() -> None:
    async with staged(options=OPTIONS) as stage:
        found = await dies_silent(stage, await dies_silent(stage))
        ended = await stage.with_models(ScriptedModels(says("hi"))).drive(found)

        (takeover,) = told(await stage.history(ended)).values()
        assert (takeover.attempt, takeover.lost_workers) == (3, 2)


async def test_the_time_is_from_the_first_lost_worker_on() -> None:
    async with staged(options=OPTIONS) as stage:
        found = await dies_silent(stage)
        stage.world.clock.advance(timedelta(seconds=20))
        found = await dies_silent(stage, found)
        ended = await stage.with_models(ScriptedModels(says("hi"))).drive(found)

        (takeover,) = told(await stage.history(ended)).values()
        assert takeover.after_s == 8 + 20


async def test_a_failure_of_the_provider_in_between_is_no_lost_worker() -> None:
    async with staged(options=OPTIONS) as stage:
        found = await dies_silent(stage)
        ended = await stage.with_models(ScriptedModels([Failed()], says("hi"))).drive(found)

        assert told(await stage.history(ended)) == {2: replace(FOUND, attempt=3)}


async def test_what_was_said_before_a_failure_says_it() -> None:
    async with staged(options=OPTIONS) as stage:
        found = await dies_silent(stage)
        script = [TextDelta(0, "so far"), Failed(retryable=False)]
        ended = await stage.with_models(ScriptedModels(script)).drive(found)

        assert ended.status is Status.FAILED
        assert told(await stage.history(ended)) == {2: FOUND}


async def test_a_successor_that_hands_over_leaves_it_to_be_told() -> None:
    async with staged(options=OPTIONS) as stage:
        found = await dies_silent(stage)
        process = stage.with_models(ScriptedModels([Hold()]))
        async with driving(process, found) as (task, nudges):
            await until(lambda: process.counters.attempts == 1)
            nudges.let_go()
        left = task.result()
        await stage.world.leases.release(Fence.of(left).worker_id, [left.chat_id])
        third = await stage.again(await stage.world.load(left.chat_id))
        ended = await stage.with_models(ScriptedModels(says("hi"))).drive(third)

        (takeover,) = told(await stage.history(ended)).values()
        assert (takeover.attempt, takeover.lost_workers) == (3, 1)


async def test_a_lease_of_unknown_length_leaves_the_time_out() -> None:
    async with staged() as stage:
        found = await dies_silent(stage)
        ended = await stage.with_models(ScriptedModels(says("hi"))).drive(found)

        assert told(await stage.history(ended)) == {2: replace(FOUND, after_s=None)}


def test_the_time_is_never_negative() -> None:
    after_s = lost_module._after_s  # pyright: ignore[reportPrivateUsage]
    back = LostWorkers(workers=1, since=NOW, until=NOW - timedelta(hours=1))
    assert after_s(back, 7.0) == 0
    assert after_s(replace(back, until=NOW + timedelta(seconds=1.4)), 7.0) == 8


# In the middle of tools.


@requirement("X1", "L116")
@pytest.mark.parametrize(
    ("effect", "fate", "runs"),
    [
        (Effect.KEYED, CallFate.JOINED, 2),
        (Effect.REPEATABLE, CallFate.REPEATED, 2),
        (Effect.ONCE, CallFate.UNKNOWN, 1),
    ],
)
async def test_what_became_of_a_call_is_told(effect: Effect, fate: CallFate, runs: int) -> None:
    effects = Effects()
    async with staged(tools=Functions(effects.tool("a", effect)), options=OPTIONS) as stage:
        found = await dies_in_tools(stage, effects, "a:1")
        ended = await stage.with_models(ScriptedModels(says("done"))).drive(found)

        call = InheritedCall(CallId("1"), "a", fate)
        assert told(await stage.history(ended)) == {3: replace(FOUND, calls=(call,))}
        assert effects.done == ["1"] * runs


async def test_every_open_call_is_told_in_the_order_of_the_reply() -> None:
    effects = Effects()
    tools = [effects.tool(effect.value, effect, reads_only=True) for effect in Effect]
    asking = effects.tool("ask", needs=Need.ANSWER)
    async with staged(tools=Functions(*tools, asking), options=OPTIONS) as stage:
        names = ("once:1", "ask:2", "repeatable:3", "keyed:4")
        found = await dies_in_tools(stage, effects, *names)
        ended = await stage.with_models(ScriptedModels()).drive(found)

        assert ended.status is Status.AWAITING
        (takeover,) = told(await stage.history(ended)).values()
        assert [(call.call_id, call.fate) for call in takeover.calls] == [
            ("1", CallFate.UNKNOWN),
            ("2", CallFate.NOT_STARTED),
            ("3", CallFate.REPEATED),
            ("4", CallFate.JOINED),
        ]


async def test_calls_that_no_worker_may_start_had_not_been_started() -> None:
    """An exclusive tool beside others: no worker runs any of them."""
    effects = Effects()
    tools = Functions(effects.tool("a", Effect.REPEATABLE, exclusive=True))
    async with staged(tools=tools, options=OPTIONS) as stage:
        chat = await stage.world.running(user())
        process = stage.with_models(ScriptedModels(calls("a:1", "a:2")))
        process.store.trouble = lambda verb, n: "lost" if verb == "commit" and n > 1 else None
        async with driving(process, chat) as (task, _):
            await until(lambda: len(stage.now(chat).open_calls) == 2)
            task.cancel()
        found = await stage.again(await stage.world.load(chat.chat_id))
        ended = await stage.with_models(ScriptedModels(says("ok"))).drive(found)

        (takeover,) = told(await stage.history(ended)).values()
        assert {call.fate for call in takeover.calls} == {CallFate.NOT_STARTED}
        assert effects.done == []


async def test_nothing_is_told_as_not_repeated_that_was_repeated() -> None:
    """Whatever moment a worker dies in: what ran twice is told as repeated, or joined by its key,
    and what has an unknown outcome is told so."""
    rounds, survived, dead = 0, False, 0
    while not survived:
        effects = Effects()
        tools = Functions(*(effects.tool(effect.value, effect) for effect in Effect))
        async with staged(tools=tools, options=OPTIONS) as stage:
            chat = await stage.world.running(user())
            survived = await die_after(stage.with_models(Willing()), chat, rounds)
            ended = await rescued(stage, chat, Willing)

            history = await stage.history(ended)
            takeovers = told(history)
            fates = {c.call_id: c.fate for t in takeovers.values() for c in t.calls}
            twice = {call_id for call_id in effects.done if effects.done.count(call_id) > 1}
            assert twice <= {"2", "3"}, rounds
            for call_id in twice:
                expected = CallFate.JOINED if call_id == "2" else CallFate.REPEATED
                assert fates.get(CallId(call_id)) is expected, (rounds, call_id)
            unknown = {
                part.call_id
                for message in history
                for part in message.body.parts
                if isinstance(part, ToolResult) and part.synthetic is Synthetic.UNKNOWN_OUTCOME
            }
            assert unknown == {c for c, fate in fates.items() if fate is CallFate.UNKNOWN}, rounds
            assert len(takeovers) <= 1
            dead += bool(takeovers)
        rounds += 1
    assert dead > 20


class Willing(ScriptedModels):
    """Answers whatever is asked: which step a successor finds, depends on the moment."""

    def stream(self, ask: Any) -> Any:  # pyright: ignore[reportImplicitOverride]
        results = any(body.role is Role.TOOL for body in ask.history)
        script = says("Fine.") if results else calls("once:1", "keyed:2", "repeatable:3")
        self._scripts.append(script)
        return super().stream(ask)


async def test_the_mutant_that_says_falsely_that_nothing_was_repeated_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def joined(*_: object, **__: object) -> CallFate:
        return CallFate.JOINED

    monkeypatch.setattr("holdfast.turn.call_plan._fate", joined)
    with pytest.raises(AssertionError):
        await test_what_became_of_a_call_is_told(Effect.REPEATABLE, CallFate.REPEATED, 2)
    with pytest.raises(AssertionError):
        await test_nothing_is_told_as_not_repeated_that_was_repeated()


# No line.


async def test_a_turn_without_trouble_and_a_failed_attempt_say_nothing() -> None:
    async with staged([Failed()], says("hi"), options=OPTIONS) as stage:
        chat = await stage.turn()
        assert told(await stage.history(chat)) == {}


@pytest.mark.parametrize("spoken", ["", "so far "])
async def test_a_hand_over_says_nothing(spoken: str) -> None:
    async with staged(options=OPTIONS) as stage:
        chat = await stage.world.running(user())
        script = [*([TextDelta(0, spoken)] if spoken else []), Hold()]
        process = stage.with_models(ScriptedModels(script))
        async with driving(process, chat) as (task, nudges):
            await until(lambda: process.counters.attempts == 1 and stage.shown(chat) == spoken)
            nudges.let_go()
        left = task.result()
        await stage.world.leases.release(Fence.of(left).worker_id, [left.chat_id])
        found = await stage.again(await stage.world.load(left.chat_id))
        assert found.lost is None
        ended = await stage.with_models(ScriptedModels(says("hi"))).drive(found)

        assert ended.status is Status.IDLE
        assert told(await stage.history(ended)) == {}


async def test_a_hand_over_of_a_repeatable_call_says_nothing() -> None:
    effects = Effects(gated=("a",))
    tools = Functions(effects.tool("a", Effect.REPEATABLE))
    async with staged(tools=tools, options=OPTIONS) as stage:
        chat = await stage.world.running(user())
        async with driving(stage.with_models(ScriptedModels(calls("a:1"))), chat) as (task, nudges):
            await until(lambda: effects.done == ["1"])
            nudges.let_go()
        left = task.result()
        await stage.world.leases.release(Fence.of(left).worker_id, [left.chat_id])
        effects.gate.set()
        found = await stage.again(await stage.world.load(left.chat_id))
        ended = await stage.with_models(ScriptedModels(says("done"))).drive(found)
        assert told(await stage.history(ended)) == {}


async def test_a_stop_after_a_worker_was_lost_says_nothing() -> None:
    async with staged(options=OPTIONS) as stage:
        found = await dies_speaking(stage)
        successor = stage.with_models(ScriptedModels())
        async with driving(successor, found) as (task, nudges):
            await successor.interrupt(found, nudges)
        ended = task.result()

        assert await stage.said(ended) == ["user: hello", "assistant (interrupted): so far "]
        assert told(await stage.history(ended)) == {}


async def test_a_stop_that_closes_a_call_of_a_lost_worker_says_nothing() -> None:
    """The result says that the outcome is unknown."""
    effects = Effects()
    async with staged(tools=Functions(effects.tool("a")), options=OPTIONS) as stage:
        found = await dies_in_tools(stage, effects, "a:1")
        await stage.world.do(found.chat_id, Interrupt())
        stopped = await stage.again(await stage.world.load(found.chat_id))
        ended = await stage.with_models(ScriptedModels()).drive(stopped)

        assert (await stage.said(ended))[-1] == "tool: 1!unknown_outcome"
        assert told(await stage.history(ended)) == {}


async def test_a_lost_worker_of_a_stopped_turn_is_not_told_in_the_next() -> None:
    async with staged(options=OPTIONS) as stage:
        found = await dies_silent(stage)
        await stage.world.do(found.chat_id, Interrupt())
        stopped = await stage.with_models(ScriptedModels()).drive(
            await stage.again(await stage.world.load(found.chat_id))
        )
        assert (stopped.status, stopped.lost) == (Status.IDLE, None)
        await stage.world.do(found.chat_id, SendMessage(user("more")))
        again = await stage.again(await stage.world.load(found.chat_id))
        ended = await stage.with_models(ScriptedModels(says("hi"))).drive(again)
        assert told(await stage.history(ended)) == {}


async def test_an_edit_takes_the_lost_worker_away_with_the_step() -> None:
    async with staged(options=OPTIONS) as stage:
        found = await dies_speaking(stage)
        successor = stage.with_models(ScriptedModels(says("new")))

        async def edited() -> None:
            await stage.world.do(found.chat_id, EditMessage(Seq(1), user("other")))

        successor.before_commit(1, edited)
        ended = await successor.drive(found)
        assert await stage.said(ended) == ["user: other", "assistant: new"]
        assert told(await stage.history(ended)) == {}
