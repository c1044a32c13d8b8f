"""Toolboxes, and the tools that need no workspace."""

import asyncio

import pytest

from holdfast.domain.chat import Status
from holdfast.domain.ids import CallId
from holdfast.domain.parts import ToolCall
from holdfast.ports.tools import Effect, Run, ToolContext, ToolOutput
from holdfast.tools.builtin import Builtin
from holdfast.tools.toolbox import Combined, Functions
from holdfast_lab.chaos.harness.tools import FLOOD_LINES, Testing, recorder_name
from tests.support.builders import NOW, a_chat
from tests.support.doubles import HandClock
from tests.support.servers import Peer, answer, serving
from tests.support.stage import Effects, until

CHAT = a_chat(Status.RUNNING)
CONTEXT = ToolContext(CHAT)


def a_run(tool: str, call_id: str = "c1", shown: list[str] | None = None) -> Run:
    emitted: list[str] = [] if shown is None else shown
    call = ToolCall(CallId(call_id), tool, {})
    return Run(chat=CHAT, call=call, key=f"2.{call_id}", emit=emitted.append)


async def test_the_clock_tells_the_time_of_the_database() -> None:
    async with Builtin(HandClock()).open(CONTEXT) as toolbox:
        assert toolbox.specs["clock"].effect is Effect.REPEATABLE
        output = await toolbox.run(a_run("clock"))
    assert output == ToolOutput(NOW.isoformat(timespec="seconds"))


async def test_of_two_tools_of_one_name_the_first_counts() -> None:
    first, second = Effects(), Effects()
    tools = Combined(Functions(first.tool("a")), Functions(second.tool("a"), second.tool("b")))
    async with tools.open(CONTEXT) as toolbox:
        assert set(toolbox.specs) == {"a", "b"}
        await toolbox.run(a_run("a"))
        await toolbox.run(a_run("b"))
    assert (len(first.done), len(second.done)) == (1, 1)


async def test_recorders_leave_one_line_per_run() -> None:
    async def take(peer: Peer) -> None:
        await peer.send(answer("200 OK", b""))
        peer.writer.close()

    async with serving(take) as server, Testing(server.url).open(CONTEXT) as toolbox:
        for effect in Effect:
            await toolbox.run(a_run(recorder_name(effect), f"call-{effect}"))
        assert [peer.body.decode() for peer in server.requests] == [
            f"{recorder_name(effect)} call-{effect}" for effect in Effect
        ]
        assert b"idempotency-key: call-keyed" in server.requests[1].head


async def test_a_recorder_that_was_not_answered_with_success_raises() -> None:
    async def refuse(peer: Peer) -> None:
        await peer.send(answer("500 No", b""))
        peer.writer.close()

    async with serving(refuse) as server, Testing(server.url).open(CONTEXT) as toolbox:
        with pytest.raises(OSError, match="not recorded"):
            await toolbox.run(a_run("record_once"))


async def test_one_hangs_until_it_is_cancelled_and_one_floods() -> None:
    async def take(peer: Peer) -> None:
        await peer.send(answer("204 None", b""))
        peer.writer.close()

    shown: list[str] = []
    async with serving(take) as server, Testing(server.url).open(CONTEXT) as toolbox:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(toolbox.run(a_run("hang", shown=shown)))
            await until(lambda: bool(shown))
            task.cancel()
        assert task.cancelled()
        flood = await toolbox.run(a_run("flood"))
    assert str(flood.value).count("\n") == FLOOD_LINES
