"""The calls of a step: which are run, beside which, for how long, and what is stored of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast.adapters.postgres.codec import encode_json
from holdfast.domain.chat import Status
from holdfast.domain.commands import Interrupt
from holdfast.domain.format import parts_to_json
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending, Message
from holdfast.domain.parts import Synthetic, ToolResult
from holdfast.ports.tools import Effect, Run, ToolOutput, ToolSpec
from holdfast.tools.toolbox import Function, Functions
from holdfast.turn import tool_runs
from holdfast.turn.call_plan import unknown_tool
from holdfast.turn.options import ToolOptions, TurnOptions
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.scripted import End, Hold, Item, ScriptedModels, call, calls, says
from tests.support.stage import Effects, Stage, driving, staged, until, valid

ODD_VALUES: list[Any] = [
    b"\xff bytes",
    float("nan"),
    {1: {2, 3}},
    2**70,
    object(),
    {"deep": [[[[["core"]]]]]},
    "\x00 and \ud800",
    None,
]


def answers(messages: tuple[Message, ...]) -> dict[str, ToolResult]:
    return {
        part.call_id: part
        for message in messages
        for part in message.body.parts
        if isinstance(part, ToolResult)
    }


def tool(name: str, run: Callable[[Run], Awaitable[ToolOutput]], **more: Any) -> Functions:
    return Functions(Function(ToolSpec(name=name, description=name, **more), run))


async def _killed_while_running(stage: Stage, effects: Effects, count: int) -> Any:
    """A worker that dies while so many calls run, and the chat as its successor finds it."""
    chat = await stage.world.running(user())
    async with driving(stage, chat) as (task, _):
        await until(lambda: effects.running == count)
        task.cancel()
    effects.gate.set()
    return await stage.again(await stage.world.load(chat.chat_id))


@requirement("X1", "L116")
async def test_after_a_crash_only_what_may_be_run_again_is_run_again() -> None:
    """A mutant that re-runs tools blindly fails here."""
    effects = Effects(gated=("once", "keyed", "repeatable"))
    tools = Functions(*(effects.tool(e.value, e, reads_only=True) for e in Effect))
    script = calls("once:1", "keyed:2", "repeatable:3")
    async with staged(script, tools=tools) as stage:
        found = await _killed_while_running(stage, effects, 3)
        successor = stage.with_models(ScriptedModels(says("I see.")))
        ended = await successor.drive(found)

        assert ended.status is Status.IDLE
        assert effects.done == ["1", "2", "3", "2", "3"]
        assert effects.again == ["2", "3"]
        found = answers(await stage.history(ended))
        assert found["1"].synthetic is Synthetic.UNKNOWN_OUTCOME
        assert found["1"].failed
        assert found["2"].output == "did 2"
        assert found["3"].output == "did 3"
        assert successor.counters.unknown_outcomes == 1
        assert valid(await stage.history(ended)) == []


@requirement("X1")
async def test_an_interrupt_after_a_crash_does_not_call_cancelled_what_may_have_happened() -> None:
    effects = Effects(gated=("a",))
    async with staged(calls("a"), tools=Functions(effects.tool("a"))) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: effects.running == 1)
            await stage.world.do(chat.chat_id, Interrupt())
            task.cancel()
        found = await stage.again(await stage.world.load(chat.chat_id))
        ended = await stage.with_models(ScriptedModels()).drive(found)

        assert ended.status is Status.IDLE
        answer = answers(await stage.history(ended))["a"]
        assert answer.synthetic is Synthetic.UNKNOWN_OUTCOME
        assert str(answer.output).endswith("\na runs\n"), "readers saw it (M4)"
        assert effects.done == ["a"]


@requirement("X1")
async def test_a_call_whose_tool_is_gone_after_a_crash_has_an_unknown_outcome() -> None:
    effects = Effects(gated=("a",))
    async with staged(calls("a"), tools=Functions(effects.tool("a", Effect.REPEATABLE))) as stage:
        found = await _killed_while_running(stage, effects, 1)
        stage.tools = Functions()
        ended = await stage.with_models(ScriptedModels(says("ok"))).drive(found)

        answer = answers(await stage.history(ended))["a"]
        assert answer.synthetic is Synthetic.UNKNOWN_OUTCOME
        assert str(answer.output).endswith("\na runs\n"), "readers saw it (M4)"
        assert effects.done == ["a"]


async def test_call_of_an_unknown_tool_is_answered_with_the_names_of_the_tools() -> None:
    effects = Effects()
    tools = Functions(*(effects.tool(name) for name in ("write_file", "read_file", "clock")))
    async with staged(calls("readfile"), says("ok"), tools=tools) as stage:
        chat = await stage.turn()

        (refused,) = answers(await stage.history(chat)).values()
        assert refused.failed
        assert str(refused.output).startswith(
            "There is no tool called 'readfile'. Nothing was run."
        )
        assert "nearest name first: read_file, write_file, clock." in str(refused.output)
        assert effects.done == []
    assert "this chat has no tools" in unknown_tool("x", ())


@requirement("L111")
@pytest.mark.parametrize("names", [("alone", "a"), ("a", "alone"), ("alone:1", "alone:2")])
async def test_an_exclusive_tool_beside_others_runs_nothing(names: tuple[str, ...]) -> None:
    effects = Effects()
    tools = Functions(effects.tool("alone", exclusive=True), effects.tool("a"))
    async with staged(calls(*names), calls("alone:9"), says("ok"), tools=tools) as stage:
        chat = await stage.turn()

        assert effects.done == ["9"]
        found = answers(await stage.history(chat))
        refused = [found[name.rpartition(":")[2]] for name in names]
        assert all(result.failed for result in refused)
        told = {result.tool: str(result.output) for result in refused}
        assert "alone must be called alone" in told["alone"]
        assert "a" not in told or told["a"].startswith("Skipped, nothing was run: alone was called")


async def test_an_exclusive_tool_beside_a_malformed_call_does_not_run_either() -> None:
    effects = Effects()
    script: list[Item] = [*call(0, "alone", "1"), *call(1, "a", "2", "[nope"), End()]
    tools = Functions(effects.tool("alone", exclusive=True), effects.tool("a"))
    async with staged(script, says("ok"), tools=tools) as stage:
        chat = await stage.turn()

        assert effects.done == []
        assert valid(await stage.history(chat)) == []


async def test_tools_that_only_read_run_side_by_side_within_a_bound() -> None:
    effects = Effects(gated=("a",))
    options = TurnOptions(tools=ToolOptions(parallel_max=2))
    script = calls(*(f"a:{n}" for n in range(5)))
    tools = Functions(effects.tool("a", reads_only=True))
    async with staged(script, says("ok"), tools=tools, options=options) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: effects.running == 2)
            effects.gate.set()
        assert effects.most == 2
        assert effects.done == ["0", "1", "2", "3", "4"]
        assert task.result().status is Status.IDLE


@requirement("L115")
async def test_results_are_stored_in_call_order_whichever_finishes_first() -> None:
    gates = {name: asyncio.Event() for name in ("1", "2", "3")}

    async def run(run: Run) -> ToolOutput:
        await gates[run.call.call_id].wait()
        following = {"3": "2", "2": "1"}.get(run.call.call_id)
        if following:
            gates[following].set()
        return ToolOutput(run.call.call_id)

    gates["3"].set()
    tools = tool("a", run, reads_only=True)
    async with staged(calls("a:1", "a:2", "a:3"), says("ok"), tools=tools) as stage:
        chat = await stage.turn()

        assert (await stage.said(chat))[2] == "tool: 1=1 + 2=2 + 3=3"


async def _order_of_runs() -> list[str]:
    """Begins and ends of six calls: two that read, two that write, two that read."""
    log: list[str] = []

    async def run(run: Run) -> ToolOutput:
        log.append(f"+{run.call.call_id}")
        for _ in range(3):  # time enough for a call that does not wait to start
            await asyncio.sleep(0)
        log.append(f"-{run.call.call_id}")
        return ToolOutput("ok")

    reads = ToolSpec(name="read", description="read", reads_only=True)
    writes = ToolSpec(name="write", description="write")
    tools = Functions(Function(reads, run), Function(writes, run))
    script = calls("read:1", "read:2", "write:3", "write:4", "read:5", "read:6")
    async with staged(script, says("ok"), tools=tools) as stage:
        await stage.turn()
    return log


async def test_a_call_that_writes_waits_for_those_before_it_and_holds_up_those_after_it() -> None:
    in_order = ["+1", "+2", "-1", "-2", "+3", "-3", "+4", "-4", "+5", "+6", "-5", "-6"]
    assert await _order_of_runs() == in_order


async def test_the_mutant_that_starts_all_calls_at_once_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def all_at_once(running: list[ToolSpec], waiting: list[ToolSpec], parallel_max: int) -> int:
        return min(len(waiting), parallel_max - len(running))

    monkeypatch.setattr(tool_runs, "count_startable", all_at_once)
    assert (await _order_of_runs())[:6] == ["+1", "+2", "+3", "+4", "+5", "+6"]


async def test_an_interrupt_starts_no_call_that_waits_for_its_turn() -> None:
    effects = Effects(gated=("write",))
    async with staged(calls("write:1", "write:2"), tools=Functions(effects.tool("write"))) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (_, nudges):
            await until(lambda: effects.running == 1)
            await stage.interrupt(chat, nudges)
            await until(lambda: stage.now(chat).status is Status.IDLE)
        assert effects.done == ["1"]
        assert set(answers(await stage.history(stage.now(chat)))) == {"1", "2"}
        assert valid(await stage.history(stage.now(chat))) == []


async def test_a_successor_keeps_the_order_of_the_calls() -> None:
    """Killed during the first of three keyed calls: the successor joins it before it starts the
    next one."""
    effects = Effects(gated=("keyed",))
    tools = Functions(effects.tool("keyed", Effect.KEYED))
    async with staged(calls("keyed:1", "keyed:2", "keyed:3"), tools=tools) as stage:
        found = await _killed_while_running(stage, effects, 1)
        assert effects.done == ["1"]
        ended = await stage.with_models(ScriptedModels(says("ok"))).drive(found)

        assert effects.done == ["1", "1", "2", "3"]
        assert effects.most == 1
        assert valid(await stage.history(ended)) == []


async def test_a_tool_past_its_deadline_is_stopped_and_answered() -> None:
    effects = Effects(gated=("slow",))
    tools = Functions(effects.tool("slow", deadline_s=0.02), effects.tool("quick"))
    async with staged(calls("slow", "quick"), says("ok"), tools=tools) as stage:
        chat = await stage.turn()

        found = answers(await stage.history(chat))
        assert found["slow"].failed
        assert "0.02 seconds" in str(found["slow"].output)
        assert found["slow"].timed_out
        assert not found["quick"].timed_out
        assert found["quick"].output == "did quick"
        assert effects.running == 0
        assert stage.counters.tool_deadlines == 1


@pytest.mark.parametrize("bug", [RuntimeError("boom"), asyncio.CancelledError(), OSError("gone")])
async def test_a_tool_that_raises_is_a_failed_result_and_no_dead_turn(bug: BaseException) -> None:
    async def run(_run: Run) -> ToolOutput:
        await asyncio.sleep(0)
        raise bug

    async with staged(calls("a"), says("I see."), tools=tool("a", run)) as stage:
        chat = await stage.turn()

        assert chat.status is Status.IDLE
        result = answers(await stage.history(chat))["a"]
        assert result.failed
        assert "boom" not in str(result.output)
        assert stage.counters.tool_bugs == 1
        assert stage.counters.bugs == 0


@requirement("M5")
@pytest.mark.parametrize("value", ODD_VALUES)
async def test_whatever_a_tool_returns_can_be_stored(value: Any) -> None:
    async def run(_run: Run) -> ToolOutput:
        return ToolOutput(value)

    async with staged(calls("a"), says("ok"), tools=tool("a", run)) as stage:
        chat = await stage.turn()

        (result,) = answers(await stage.history(chat)).values()
        assert encode_json(parts_to_json((result,)))
        assert chat.status is Status.IDLE


async def test_a_tool_that_answers_with_something_else_is_a_bug_of_the_tool() -> None:
    async def run(_run: Run) -> Any:
        return "not an output"

    async with staged(calls("a"), says("ok"), tools=tool("a", run)) as stage:
        await stage.turn()

        assert stage.counters.tool_bugs == 1


@requirement("L114")
async def test_a_flood_is_cut_to_a_share_of_the_window_and_counted() -> None:
    async def run(_run: Run) -> ToolOutput:
        return ToolOutput("wörd " * 100_000)

    async with staged(calls("a"), says("ok"), tools=tool("a", run), window=10_000) as stage:
        chat = await stage.turn()

        result = answers(await stage.history(chat))["a"]
        output = result.output
        assert result.truncated
        assert isinstance(output, str)
        assert len(output.encode()) <= 4_000  # a tenth of the window, at 4 bytes a token
        assert "left out here" in output
        assert output.startswith("wörd ")
        assert output.endswith("wörd ")
        assert stage.counters.cut_outputs == 1


@requirement("L114")
async def test_a_tool_is_told_the_limit_so_that_it_can_cut_where_it_makes_sense() -> None:
    told: list[int] = []

    async def run(run: Run) -> ToolOutput:
        told.append(run.output_bytes_max)
        return ToolOutput("x" * run.output_bytes_max)

    async with staged(calls("a"), says("ok"), tools=tool("a", run), window=10_000) as stage:
        chat = await stage.turn()

        assert (told, answers(await stage.history(chat))["a"].truncated) == ([4_000], False)


async def test_what_a_running_tool_writes_is_shown_in_the_episode_of_its_step() -> None:
    effects = Effects(gated=("a",))
    async with staged(calls("a"), says("ok"), tools=Functions(effects.tool("a"))) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat):
            await until(
                lambda: any(
                    b"tool_output" in part.payload
                    for parts in stage.server.log.values()
                    for part in parts.values()
                )
            )
            effects.gate.set()
        episodes = {
            episode: b"".join(parts[seq].payload for seq in sorted(parts))
            for (_, episode), parts in stage.server.log.items()
        }
        (at,) = [at for at, payload in episodes.items() if b"tool_output" in payload]
        assert episodes[at] == b'[{"type":"tool_output","call_id":"a","text":"a runs\\n"}]'
        assert at.attempt == 1
        assert at.history_version > chat.history_version


# Stopping.


@requirement("X2")
async def test_a_run_that_ignores_its_cancellation_does_not_hold_up_the_interrupt() -> None:
    release = asyncio.Event()
    began = asyncio.Event()

    async def stubborn(_run: Run) -> ToolOutput:
        began.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return ToolOutput("late")

    async with staged(calls("a"), tools=tool("a", stubborn)) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await began.wait()
            await stage.interrupt(chat, nudges)
            await until(lambda: stage.now(chat).status is Status.IDLE)
            assert not task.done()
            release.set()
        assert stage.counters.tools_stuck == 1


async def test_letting_go_lets_what_must_not_happen_twice_finish() -> None:
    effects = Effects(gated=("once", "keyed", "repeatable"))
    tools = Functions(*(effects.tool(e.value, e, reads_only=True) for e in Effect))
    async with staged(calls("once:1", "keyed:2", "repeatable:3"), tools=tools) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: effects.running == 3)
            nudges.let_go()
            await until(lambda: effects.running == 1)
            effects.gate.set()
        let_go = task.result()

        assert let_go.worker_id == chat.worker_id
        assert (await stage.said(let_go))[2] == "tool: 1=did 1"
        successor = stage.with_models(ScriptedModels(says("ok")))
        ended = await successor.drive(await successor.again(let_go))
        assert ended.status is Status.IDLE
        assert sorted(effects.done) == ["1", "2", "2", "3", "3"]
        assert valid(await stage.history(ended)) == []


async def test_letting_go_does_not_wait_for_ever_for_a_tool() -> None:
    effects = Effects(gated=("once",))
    async with staged(calls("once"), tools=Functions(effects.tool("once"))) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: effects.running == 1)
            nudges.let_go()
        assert effects.running == 0
        successor = stage.with_models(ScriptedModels(says("ok")))
        ended = await successor.drive(await successor.again(task.result()))
        found = answers(await stage.history(ended))
        assert found["once"].synthetic is Synthetic.UNKNOWN_OUTCOME
        assert effects.done == ["once"]


async def test_letting_go_before_a_call_is_started_says_that_it_had_no_effect() -> None:
    effects = Effects(gated=("once",))
    options = TurnOptions(tools=ToolOptions(handover_s=0.05))
    script = calls("once:1", "again:2", "once:3", "again:4")
    tools = Functions(effects.tool("once"), effects.tool("again", Effect.REPEATABLE))
    async with staged(script, tools=tools, options=options) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: effects.running == 1)
            nudges.let_go()
        assert effects.done == ["1"]
        found = answers(await stage.history(task.result()))
        assert set(found) == {"3", "4"}, "4 may build on 3, which was not done; 2 is still open"
        assert all("no effect" in str(result.output) for result in found.values())


async def test_a_worker_that_stops_as_the_reply_arrives_starts_no_tools() -> None:
    effects = Effects()
    hold = Hold()
    script = calls("a")
    script.insert(len(script) - 1, hold)
    async with staged(script, tools=Functions(effects.tool("a"))) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: stage.shown(chat) != "")
            nudges.let_go()
        assert effects.done == []
        (_, reply, *_) = await stage.history(task.result())
        assert reply.body.ending is Ending.CUT
        assert answers(await stage.history(task.result()))["a"].synthetic is Synthetic.CUT_OFF


async def test_arguments_come_from_the_committed_message() -> None:
    seen: list[Any] = []
    gate = asyncio.Event()

    async def run(run: Run) -> ToolOutput:
        seen.append((run.call.call_id, dict(run.call.arguments), run.again))
        await gate.wait()
        return ToolOutput("ok")

    script: list[Item] = [*call(0, "a", "c", '{"path": "x"}'), End()]
    async with staged(script, tools=tool("a", run, effect=Effect.REPEATABLE)) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: len(seen) == 1)
            task.cancel()
        gate.set()
        found = await stage.again(await stage.world.load(chat.chat_id))
        await stage.with_models(ScriptedModels(says("ok"))).drive(found)
        assert seen == [(CallId("c"), {"path": "x"}, False), (CallId("c"), {"path": "x"}, True)]
