"""Who may end what a call runs elsewhere: an interrupt and a deadline, not a worker that goes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast.domain.chat import Chat, OpenCall, Status
from holdfast.domain.commands import EditMessage, Interrupt, SendMessage
from holdfast.domain.fence import Fence
from holdfast.domain.ids import Seq
from holdfast.domain.parts import Synthetic, ToolResult
from holdfast.ports.tools import Effect, Run, Toolbox, ToolContext, ToolOutput, ToolSpec
from holdfast.turn.options import ToolOptions, TurnOptions
from holdfast.turn.session import TurnSession
from holdfast.turn.steps import keep_partial
from holdfast.turn.tool_runs import ToolRuns
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.scripted import ScriptedModels, calls, says
from tests.support.stage import QUICK, Stage, driving, staged, until


class Elsewhere:
    """A keyed tool whose calls run on another machine, and go on until somebody stops them."""

    def __init__(self, *, deadline_s: float = 600.0) -> None:
        spec = ToolSpec(
            name="far",
            description="far",
            effect=Effect.KEYED,
            reads_only=True,  # so that two calls of it run at the same time
            deadline_s=deadline_s,
        )
        self.specs = {"far": spec}
        self.names = frozenset(self.specs)
        self.alive: set[str] = set()
        self.never: set[str] = set()
        self.stops: list[str] = []
        self.told: list[str] = []
        self.fault: Exception | None = None
        self.hangs = False
        self.place: str | None = None
        self.ran_for: list[tuple[str | None, bool]] = []
        """Of each run: the place of its call, and whether it may be the second one."""

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        yield self

    async def sections(self) -> Sequence[str]:
        self.told.append("asked")
        return ("You have a far tool.",)

    async def run(self, run: Run) -> ToolOutput:
        self.ran_for.append((run.place, run.again))
        if run.key not in self.never:
            self.alive.add(run.key)
        await asyncio.Event().wait()
        raise AssertionError("nobody sets this event")

    async def stop(self, call: OpenCall) -> None:
        self.stops.append(call.key)
        if self.hangs:
            await asyncio.Event().wait()
        if self.fault is not None:
            raise self.fault
        self.alive.discard(call.key)
        self.never.add(call.key)


async def results(stage: Stage, chat: Chat) -> list[ToolResult]:
    parts = [part for m in await stage.history(chat) for part in m.body.parts]
    return [part for part in parts if isinstance(part, ToolResult)]


@requirement("X2")
async def test_an_interrupt_ends_what_runs_elsewhere() -> None:
    far = Elsewhere()
    async with staged(calls("far:1", "far:2"), tools=far) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: far.alive == {"2.1", "2.2"})
            await stage.interrupt(chat, nudges)
        assert far.alive == set()
        ended = await results(stage, task.result())
    assert [result.synthetic for result in ended] == [Synthetic.INTERRUPTED] * 2


@requirement("X2")
async def test_a_deadline_ends_it_too() -> None:
    far = Elsewhere(deadline_s=0.02)
    async with staged(calls("far:1"), says("ok"), tools=far) as stage:
        chat = await stage.turn()
        (late,) = await results(stage, chat)
    assert far.alive == set()
    assert "did not finish" in str(late.output)


@requirement("X2")
async def test_a_message_that_takes_the_call_away_ends_it_too() -> None:
    far = Elsewhere()
    async with staged(calls("far:1"), says("ok"), tools=far) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (_, nudges):
            await until(lambda: bool(far.alive))
            await stage.interrupt(chat, nudges, SendMessage(user("no, this"), "interrupt"))
        assert far.alive == set()


async def hands_over() -> Elsewhere:
    """A worker that is told to go while a call runs elsewhere."""
    far = Elsewhere()
    async with staged(calls("far:1"), tools=far) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (_, nudges):
            await until(lambda: bool(far.alive))
            nudges.let_go()
        assert far.alive == {"2.1"}
    return far


@requirement("X2", "L116")
async def test_a_worker_that_lets_go_leaves_it_to_its_successor() -> None:
    assert (await hands_over()).stops == []


@requirement("L145")
async def test_successor_is_told_the_place_that_the_call_was_committed_with() -> None:
    far = Elsewhere()
    far.place = "the first workspace"
    async with staged(calls("far:1"), tools=far) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (_, nudges):
            await until(lambda: bool(far.alive))
            nudges.let_go()
        await stage.world.leases.release(Fence.of(chat).worker_id, [chat.chat_id])
        far.place = "another one"
        (taken,) = await stage.world.acquire(await stage.world.a_worker())
        assert [call.place for call in taken.open_calls] == ["the first workspace"]
        async with driving(stage, taken) as (_, nudges):
            await until(lambda: len(far.ran_for) == 2)
            nudges.let_go()
    assert far.ran_for == [("the first workspace", False), ("the first workspace", True)]


@requirement("X2", "L116")
async def test_a_worker_that_lost_its_lease_leaves_it_to_its_successor() -> None:
    far = Elsewhere()
    async with staged(calls("far:1"), tools=far) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: bool(far.alive))
            task.cancel()
        assert (far.alive, far.stops) == ({"2.1"}, [])


async def interrupted_after_a_crash() -> Elsewhere:
    far = Elsewhere()
    async with staged(calls("far:1"), tools=far) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: bool(far.alive))
            task.cancel()
        await stage.world.do(chat.chat_id, Interrupt())
        found = await stage.again(await stage.world.load(chat.chat_id))
        ended = await stage.with_models(ScriptedModels()).drive(found)
        assert ended.status is Status.IDLE
        (result,) = await results(stage, ended)
        assert result.synthetic is Synthetic.UNKNOWN_OUTCOME
        assert far.alive == set(), "it goes on"
        assert far.never == {"2.1"}, "who was only frozen may start it yet"
    return far


@requirement("X2")
async def test_an_interrupt_ends_what_a_dead_worker_started() -> None:
    assert (await interrupted_after_a_crash()).stops == ["2.1"]


@requirement("X1", "X2")
@pytest.mark.parametrize("how", ["fault", "hangs"])
@pytest.mark.parametrize("why", ["interrupt", "deadline"])
async def test_what_could_not_be_stopped_is_not_called_cancelled(why: str, how: str) -> None:
    far = Elsewhere(deadline_s=0.02 if why == "deadline" else 600.0)
    far.hangs, far.fault = how == "hangs", OSError("no route") if how == "fault" else None
    scripts = [calls("far:1"), says("ok")][: 2 if why == "deadline" else 1]
    options = TurnOptions(tools=ToolOptions(stop_s=0.1), pause_s=QUICK.pause_s)
    async with staged(*scripts, tools=far, options=options) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, nudges):
            await until(lambda: bool(far.alive))
            if why == "interrupt":
                await stage.interrupt(chat, nudges)
        (result,) = await results(stage, task.result())
        assert stage.counters.tools_stuck == 1
    assert result.synthetic is Synthetic.UNKNOWN_OUTCOME
    assert "may still be running" in str(result.output)


async def test_a_tool_may_say_that_its_outcome_is_unknown() -> None:
    class Doubtful(Elsewhere):
        async def run(self, run: Run) -> ToolOutput:  # pyright: ignore[reportImplicitOverride]
            return ToolOutput("who knows", unknown=True)

    async with staged(calls("far:1"), says("ok"), tools=Doubtful()) as stage:
        (result,) = await results(stage, await stage.turn())
        assert stage.counters.unknown_outcomes == 1
    assert (result.synthetic, result.failed) == (Synthetic.UNKNOWN_OUTCOME, True)
    assert result.output == "who knows"


async def test_a_toolbox_introduces_itself_once_per_turn_after_the_servers_own_words() -> None:
    far = Elsewhere()
    options = TurnOptions(system=("Be brief.",), tools=ToolOptions(stop_s=0.1))
    async with staged(calls("no_such"), says("ok"), tools=far, options=options) as stage:
        await stage.turn()
        systems = [ask.system for ask in stage.models.asked]
    assert systems == [("Be brief.", "You have a far tool.")] * 2
    assert far.told == ["asked"]


async def test_a_toolbox_that_cannot_introduce_itself_costs_no_turn() -> None:
    class Shy(Elsewhere):
        async def sections(self) -> Sequence[str]:  # pyright: ignore[reportImplicitOverride]
            raise RuntimeError("no words")

    async with staged(says("ok"), tools=Shy()) as stage:
        chat = await stage.turn()
        assert (chat.status, stage.counters.tool_bugs) == (Status.IDLE, 1)
        assert stage.models.asked[0].system == ()


async def test_a_call_id_that_a_model_uses_again_after_an_edit_is_another_call() -> None:
    """Else the new call would be given what the old one's process had done."""
    far = Elsewhere()
    async with staged(calls("far:1"), calls("far:1"), tools=far) as stage:
        chat = await stage.world.running(user())
        first = Seq(1)
        for _ in range(2):
            async with driving(stage, chat) as (task, nudges):
                await until(lambda: bool(far.alive))
                await stage.interrupt(chat, nudges)
            edited = await stage.world.do(task.result().chat_id, EditMessage(first, user("oh")))
            first = edited.messages[0].seq
            chat = await stage.again(edited.chat)
    assert far.stops == ["2.1", "5.1"]  # by the interrupts: the edits find them ended


async def edited_after_a_crash(*, edits: int = 1, interrupt: bool = False) -> Elsewhere:
    """A message is edited, or several times in a row, while its owner is dead."""
    far = Elsewhere()
    async with staged(calls("far:1"), tools=far) as stage:
        chat = await stage.world.running(user())
        async with driving(stage, chat) as (task, _):
            await until(lambda: bool(far.alive))
            task.cancel()
        seq = Seq(1)
        for _ in range(edits):
            edited = await stage.world.do(chat.chat_id, EditMessage(seq, user("oh")))
            seq = edited.messages[0].seq
        if interrupt:
            await stage.world.do(chat.chat_id, Interrupt())
        found = await stage.again(await stage.world.load(chat.chat_id))
        scripts = [] if interrupt else [says("ok")]
        ended = await stage.with_models(ScriptedModels(*scripts)).drive(found)
        assert ended.status is Status.IDLE
        assert far.alive == set(), "it goes on"
        assert far.never == {"2.1"}, "who was only frozen may start it yet"
    return far


@requirement("X2")
@pytest.mark.parametrize("edits", [1, 3])
@pytest.mark.parametrize("interrupt", [False, True])
async def test_an_edit_ends_what_a_dead_worker_started(edits: int, *, interrupt: bool) -> None:
    assert (await edited_after_a_crash(edits=edits, interrupt=interrupt)).stops == ["2.1"]


async def test_an_edit_ends_nothing_that_was_answered() -> None:
    far = Elsewhere(deadline_s=0.02)
    async with staged(calls("far:1"), says("ok"), says("ok"), tools=far) as stage:
        chat = await stage.turn()
        far.stops.clear()
        edited = await stage.world.do(chat.chat_id, EditMessage(Seq(1), user("oh")))
        ended = await stage.drive(await stage.again(edited.chat))
    assert (ended.status, far.stops) == (Status.IDLE, [])


# Mutants: each is a mistake that the tests above were seen to catch.


async def test_the_mutant_that_stops_on_hand_over_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end = ToolRuns._end  # pyright: ignore[reportPrivateUsage]

    async def always(self: Any, turn: Any, toolbox: Any, batch: Any, nudged: Any) -> None:
        planned = [each for each, _ in batch.running.values()]
        if nudged is not None:
            await self._stop(turn, toolbox, list(batch.running), planned)
        await end(self, turn, toolbox, batch, nudged)

    monkeypatch.setattr(ToolRuns, "_end", always)
    with pytest.raises(AssertionError):
        await hands_over()


async def test_the_mutant_that_forgets_the_calls_of_the_dead_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing(session: Any) -> None:
        pass

    monkeypatch.setattr(keep_partial, "stop_inherited", nothing)
    with pytest.raises(AssertionError, match="it goes on"):
        await interrupted_after_a_crash()


async def test_the_mutant_that_forgets_what_an_edit_hid_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing(self: Any) -> None:
        pass

    monkeypatch.setattr(TurnSession, "stop_void", nothing)
    with pytest.raises(AssertionError, match="it goes on"):
        await edited_after_a_crash()
