"""An interrupt keeps what anybody saw, whoever is left to keep it."""

import asyncio
from collections.abc import Sequence

import pytest

from holdfast.domain.chat import Status
from holdfast.domain.commands import EditMessage, Interrupt, SendMessage
from holdfast.domain.errors import FormatUnknown
from holdfast.domain.ids import CallId, Seq
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Reasoning, Synthetic, ToolResult
from holdfast.domain.synthetic import SENTENCES
from holdfast.ports.models import (
    ArgumentsDelta,
    CallStarted,
    Event,
    ReasoningDelta,
    TextDelta,
    Usage,
    UsageSeen,
)
from holdfast.tools.toolbox import Functions
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.shown_output import HEADING
from tests.requirements import requirement
from tests.support.builders import NOW, user
from tests.support.scripted import USAGE, End, Failed, Hold, Item, ScriptedModels, calls, says
from tests.support.stage import Effects, Stage, driving, staged, until, valid

DELTAS: tuple[Event, ...] = (
    ReasoningDelta(0, "Hm"),
    ReasoningDelta(0, " "),
    ReasoningDelta(0, "\n\n"),
    TextDelta(1, "  "),
    TextDelta(1, "The"),
    TextDelta(1, "\t"),
    TextDelta(1, " sky\n"),
    TextDelta(1, "\n"),
    CallStarted(2, CallId("c1"), "a"),
    ArgumentsDelta(2, '{"n": '),
    ArgumentsDelta(2, "1}"),
    TextDelta(3, " "),
    TextDelta(3, "is wide."),
)


def text_of(deltas: Sequence[Event]) -> str:
    return "".join(d.text for d in deltas if isinstance(d, TextDelta | ReasoningDelta))


async def kept(stage: Stage, chat_id: object) -> str:
    chat = await stage.world.load(chat_id)  # type: ignore[arg-type]
    message = next(m for m in await stage.history(chat) if m.body.ending is Ending.INTERRUPTED)
    return "".join(getattr(part, "text", "") for part in message.body.parts)


@requirement("L01", "L10", "L11", "M4")
@pytest.mark.parametrize("count", range(1, len(DELTAS) + 1))
async def test_an_interrupt_after_any_delta_keeps_exactly_what_was_shown(count: int) -> None:
    async with staged([*DELTAS[:count], Hold()]) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) == text_of(DELTAS[:count]))
            await stage.interrupt(chat, nudges)
        ended = task.result()

        assert ended.status is Status.IDLE
        assert await kept(stage, chat.chat_id) == text_of(DELTAS[:count]) == stage.shown(chat)
        history = await stage.history(ended)
        assert valid(history) == []
        parts = history[1].body.parts
        assert [p.finished_at for p in parts if isinstance(p, Reasoning)] == [NOW]
        has_call = any(part.kind == "tool_call" for part in parts)
        assert has_call is (count >= 11)  # L09: whole arguments, or no call


@requirement("L01", "L09", "L10", "L11", "M4")
@pytest.mark.parametrize("count", range(1, len(DELTAS) + 1))
async def test_whoever_comes_after_a_dead_owner_keeps_what_was_shown(count: int) -> None:
    async with staged([*DELTAS[:count], Hold()]) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: stage.shown(chat) == text_of(DELTAS[:count]))
            await stage.world.do(chat.chat_id, Interrupt())
            await stage.bus_is_quiet()
            task.cancel()
        found = await stage.again(await stage.world.load(chat.chat_id))
        successor = stage.with_models(ScriptedModels())
        ended = await successor.drive(found)

        assert ended.status is Status.IDLE
        assert await kept(stage, chat.chat_id) == text_of(DELTAS[:count])
        history = await stage.history(ended)
        assert valid(history) == []
        assert [p.finished_at for p in history[1].body.parts if isinstance(p, Reasoning)] == [NOW]
        has_call = any(part.kind == "tool_call" for part in history[1].body.parts)
        assert has_call is (count >= 11)


async def test_with_the_bus_away_a_successor_finishes_the_interrupt_without() -> None:
    async with staged([TextDelta(0, "gone"), Hold()]) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: stage.shown(chat) == "gone")
            task.cancel()
        await stage.world.do(chat.chat_id, Interrupt())
        found = await stage.again(await stage.world.load(chat.chat_id))
        await stage.server.stop()
        successor = stage.with_models(ScriptedModels())
        ended = await successor.drive(found)

        assert ended.status is Status.IDLE
        assert await stage.said(ended) == ["user: hello"]
        assert successor.counters.partials_missed == 1


async def test_a_bus_that_comes_back_in_time_is_waited_for() -> None:
    async with staged([TextDelta(0, "kept"), Hold()]) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: stage.shown(chat) == "kept")
            task.cancel()
        await stage.world.do(chat.chat_id, Interrupt())
        found = await stage.again(await stage.world.load(chat.chat_id))
        stage.server.running = False
        successor = stage.with_models(ScriptedModels(), partial_s=5.0)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(successor.drive(found))
            await asyncio.sleep(0.02)
            assert not task.done()
            stage.server.running = True
        assert await stage.said(task.result()) == ["user: hello", "assistant (interrupted): kept"]


@requirement("L02")
@pytest.mark.parametrize("end", [None, Failed(), Failed(retryable=False)])
async def test_an_interrupt_is_kept_however_the_provider_takes_it(end: Failed | None) -> None:
    hold = Hold()
    script: list[Item] = [TextDelta(0, "so far"), hold]
    if end is not None:
        script.append(end)
    async with staged(script) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) == "so far")
            commit = await stage.world.do(chat.chat_id, Interrupt())
            hold.until.set()  # the stream ends by itself in the same moment
            nudges.hear(commit.chat.version, commit.chat.history_version, commit.chat.status)
        ended = task.result()

        assert await stage.said(ended) == ["user: hello", "assistant (interrupted): so far"]
        assert ended.status is Status.IDLE


async def test_the_usage_of_an_interrupted_attempt_is_kept_if_it_is_known() -> None:
    usage = Usage(input=3, output=2)
    async with staged([UsageSeen(usage), TextDelta(0, "so"), Hold()]) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) == "so")
            await stage.interrupt(chat, nudges)
        partial = (await stage.history(task.result()))[1]

        assert partial.body.usage == usage.counts()
        assert partial.body.cost_micros == 5


async def test_an_attempt_that_was_never_opened_bills_nothing() -> None:
    async with staged([Failed(retry_after_s=30)]) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.counters.retries == 1)
            await until(lambda: stage.store.calls.get("commit") == 1)
            await stage.interrupt(chat, nudges)
        assert await stage.said(task.result()) == ["user: hello"]
        assert task.result().status is Status.IDLE


async def test_an_interrupt_ends_a_backoff_and_keeps_the_attempt_that_failed() -> None:
    async with staged([TextDelta(0, "half"), Failed(retry_after_s=30)]) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.store.calls.get("commit") == 1)
            await stage.interrupt(chat, nudges)
        assert await stage.said(task.result()) == ["user: hello", "assistant (interrupted): half"]


@requirement("L07")
async def test_an_urgent_message_comes_after_the_partial_and_the_cancellations() -> None:
    effects = Effects(gated=("slow",))
    tools = Functions(effects.tool("slow"))
    async with staged(calls("slow"), says("new"), tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: effects.running == 1)
            send = SendMessage(user("stop, this instead"), "interrupt")
            await stage.interrupt(chat, nudges, send)
        assert await stage.said(task.result()) == [
            "user: hello",
            "assistant: let me see + ?slow",
            "tool: slow!interrupted",
            "user: stop, this instead",
            "assistant: new",
        ]
        assert effects.running == 0


@requirement("L03", "L115")
async def test_interrupting_tools_keeps_what_finished_and_cancels_the_rest() -> None:
    effects = Effects(gated=("slow",))
    tools = Functions(*(effects.tool(name, reads_only=True) for name in ("slow", "quick")))
    async with staged(calls("slow:1", "quick:2", "slow:3", "quick:4"), tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: effects.running == 2 and len(effects.done) == 4)
            await stage.interrupt(chat, nudges)
        ended = task.result()

        assert ended.status is Status.IDLE
        assert effects.running == 0  # X2: nothing of them is left
        assert await stage.said(ended) == [
            "user: hello",
            "assistant: let me see + ?1 + ?2 + ?3 + ?4",
            "tool: 1!interrupted + 2=did 2 + 3!interrupted + 4=did 4",
        ]
        assert valid(await stage.history(ended)) == []


@requirement("M4")
async def test_the_output_of_a_stopped_call_that_readers_saw_is_kept() -> None:
    effects = Effects(gated=("slow",))
    async with staged(calls("slow:1"), tools=Functions(effects.tool("slow"))) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: effects.running == 1)
            await stage.interrupt(chat, nudges)
        (stopped,) = (await stage.history(task.result()))[-1].body.parts

        assert isinstance(stopped, ToolResult)
        sentence = SENTENCES[Synthetic.INTERRUPTED]
        assert stopped.output == f"{sentence}\n{HEADING}\n1 runs\n"
        assert (stopped.synthetic, stopped.summary_lines) == (Synthetic.INTERRUPTED, 2)


@requirement("L04")
async def test_an_interrupt_between_the_last_look_and_the_commit_loses_nothing() -> None:
    async with staged(says("whole")) as stage:
        chat = await stage.world.running(user())

        async def interrupt_first() -> None:
            await stage.world.do(chat.chat_id, Interrupt())

        stage.before_commit(1, interrupt_first)
        ended = await stage.drive(chat)

        assert ended.status is Status.IDLE
        assert await stage.said(ended) == ["user: hello", "assistant: whole"]
        assert (await stage.history(ended))[1].body.usage == USAGE.counts()


@requirement("L04")
async def test_an_interrupt_right_before_tool_results_are_committed_keeps_them() -> None:
    effects = Effects()
    async with staged(calls("a"), tools=Functions(effects.tool("a"))) as stage:
        chat = await stage.world.running(user())

        async def interrupt_first() -> None:
            await stage.world.do(chat.chat_id, Interrupt())

        stage.before_commit(2, interrupt_first)
        ended = await stage.drive(chat)

        assert ended.status is Status.IDLE
        assert (await stage.said(ended))[2:] == ["tool: a=did a"]
        assert effects.done == ["a"]


@requirement("L04")
async def test_an_interrupt_before_a_retry_is_recorded_is_finished_at_once() -> None:
    async with staged([TextDelta(0, "half"), Failed(retry_after_s=30)]) as stage:
        chat = await stage.world.running(user())

        async def interrupt_first() -> None:
            await stage.world.do(chat.chat_id, Interrupt())

        stage.before_commit(1, interrupt_first)
        ended = await stage.drive(chat)

        assert ended.status is Status.IDLE
        assert await stage.said(ended) == ["user: hello", "assistant (interrupted): half"]


@requirement("L06")
async def test_an_edit_drops_the_step_and_the_new_history_is_answered() -> None:
    async with staged([TextDelta(0, "old answ"), Hold()], says("new answer")) as stage:
        chat = await stage.world.running(user("old"))
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) == "old answ")
            await stage.interrupt(chat, nudges, EditMessage(Seq(1), user("new")))
        ended = task.result()

        assert await stage.said(ended) == ["user: new", "assistant: new answer"]
        assert [body.parts for body in stage.models.asked[1].history] == [user("new").parts]


@requirement("L06")
async def test_an_edit_that_nobody_heard_of_is_found_by_the_fence() -> None:
    async with staged(says("old answer"), says("new answer")) as stage:
        chat = await stage.world.running(user("old"))

        async def edit_first() -> None:
            await stage.world.do(chat.chat_id, EditMessage(Seq(1), user("new")))

        stage.before_commit(1, edit_first)
        ended = await stage.drive(chat)

        assert await stage.said(ended) == ["user: new", "assistant: new answer"]
        assert stage.counters.overtaken == 1


@requirement("L06")
async def test_an_edit_while_tools_run_takes_their_results_with_it() -> None:
    effects = Effects(gated=("slow",))
    async with staged(calls("slow"), says("new"), tools=Functions(effects.tool("slow"))) as stage:
        chat = await stage.world.running(user("old"))
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: effects.running == 1)
            await stage.interrupt(chat, nudges, EditMessage(Seq(1), user("new")))
        assert await stage.said(task.result()) == ["user: new", "assistant: new"]
        assert effects.running == 0


async def test_a_rumour_that_is_nothing_does_not_disturb_the_step() -> None:
    hold = Hold()
    script = [TextDelta(0, "a"), hold, TextDelta(0, "b"), End()]
    async with staged(script, says("queued")) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) == "a")
            await stage.world.do(chat.chat_id, SendMessage(user("later")))
            nudges.doubt()
            await until(lambda: not nudges.pending)
            hold.until.set()
        assert await stage.said(task.result()) == [
            *("user: hello", "assistant: ab", "user: later", "assistant: queued"),
        ]
        assert stage.counters.overtaken == 0


# Letting go.


@requirement("M4")
async def test_letting_go_keeps_what_was_said_and_a_successor_goes_on() -> None:
    async with staged([TextDelta(0, "The answ"), Hold()]) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) == "The answ")
            nudges.let_go()
        let_go = task.result()

        assert let_go.worker_id == chat.worker_id
        assert let_go.status is Status.RUNNING
        assert await stage.said(let_go) == ["user: hello", "assistant (cut): The answ"]
        successor = stage.with_models(ScriptedModels(says("er.")))
        ended = await successor.drive(await successor.again(let_go))
        assert (await stage.said(ended))[1:] == ["assistant (cut): The answ", "assistant: er."]


@requirement("F30")
async def test_letting_go_after_the_reply_lets_it_end_and_begins_nothing() -> None:
    script: list[Item] = [TextDelta(0, "The answ"), hold := Hold(), TextDelta(0, "er."), End()]
    async with staged(script) as stage:
        chat = await stage.world.running(user())
        await stage.world.do(chat.chat_id, SendMessage(user("and?")))
        chat = await stage.world.load(chat.chat_id)
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) == "The answ")
            nudges.let_go(after_reply=True)
            await asyncio.sleep(1)
            assert not task.done()
            hold.until.set()
        assert await stage.said(task.result()) == [
            *("user: hello", "assistant: The answer.", "user: and?"),
        ]
        assert task.result().worker_id == chat.worker_id
        assert len(stage.models.asked) == 1


async def test_an_interrupt_is_heard_while_a_reply_may_end() -> None:
    async with staged([TextDelta(0, "so far"), Hold()]) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) == "so far")
            nudges.let_go(after_reply=True)
            await stage.interrupt(chat, nudges)
        assert await stage.said(task.result()) == ["user: hello", "assistant (interrupted): so far"]
        assert task.result().status is Status.IDLE


@pytest.mark.parametrize("script", [[Hold()], [Failed(retry_after_s=30)]])
async def test_letting_go_before_anything_was_said_just_returns(script: list[Item]) -> None:
    async with staged(script) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: len(stage.models.asked) == 1)
            if not isinstance(script[0], Hold):
                await until(lambda: stage.store.calls.get("commit") == 1)
            nudges.let_go()
        assert await stage.said(task.result()) == ["user: hello"]
        assert task.result().worker_id == chat.worker_id


async def test_an_interrupt_is_finished_even_by_a_worker_that_stops() -> None:
    async with staged() as stage:
        chat = await stage.world.running(user())
        await stage.world.do(chat.chat_id, Interrupt())
        chat = await stage.world.load(chat.chat_id)
        async with driving(stage, chat) as (task, nudges):
            nudges.let_go()
        assert task.result().status is Status.IDLE


def results_of(messages: Sequence[object]) -> dict[str, ToolResult]:
    return {
        part.call_id: part
        for message in messages
        for part in message.body.parts  # type: ignore[attr-defined]
        if isinstance(part, ToolResult)
    }


@requirement("L03")
async def test_cancelled_calls_say_that_somebody_interrupted() -> None:
    effects = Effects(gated=("slow",))
    async with staged(calls("slow"), tools=Functions(effects.tool("slow"))) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: effects.running == 1)
            await stage.interrupt(chat, nudges)
        found = results_of(await stage.history(task.result()))
        assert found["slow"].failed
        assert found["slow"].synthetic is Synthetic.INTERRUPTED


@requirement("L137")
@pytest.mark.parametrize("step", ["reply", "tool", "backoff"])
async def test_a_chat_that_became_unreadable_is_told_as_such(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as a group of errors, which the driver would take for a fault of its own."""
    effects = Effects(gated=["a"])
    scripts: dict[str, list[Item]] = {
        "reply": [TextDelta(0, "half"), Hold()],
        "tool": calls("a"),
        "backoff": [Failed(retry_after_s=600)],
    }
    async with staged(scripts[step], tools=Functions(effects.tool("a"))) as stage:
        chat = await stage.world.running(user())
        nudges = Interrupts(chat)
        driving_it = asyncio.create_task(stage.drive(chat, nudges))
        reached = {
            "reply": lambda: stage.shown(chat) == "half",
            "tool": lambda: effects.running == 1,
            "backoff": lambda: stage.now(chat).backoff is not None,
        }
        await until(reached[step])

        async def unreadable(*_args: object) -> None:
            raise FormatUnknown("message format 2")

        monkeypatch.setattr(stage.store, "load", unreadable)
        nudges.doubt()
        with pytest.raises(FormatUnknown, match="format 2"):
            await driving_it
        assert stage.counters.bugs == 0
        assert stage.now(chat).status is Status.RUNNING
