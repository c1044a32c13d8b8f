"""Blocking waits: one request each, no work while nothing happens, awake as soon as it does."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from holdfast.workspace.client import AgentClient, AgentGone
from holdfast_agent.wire import Input, Look, Start, State
from tests.requirements import requirement
from tests.support.agents import Agent, running_agent

SOON_S: Final = 60
WAITS: Final = 500

IMPATIENT: Final = "from holdfast_agent import http\nhttp.ALIVE_S = 0.2"
"""Not a mutant: a blank every 0.2 s instead of every 10."""
PATIENT: Final = "from holdfast_agent import http\nhttp.ALIVE_S = 1000"
"""No blanks at all: what the agent does then, it does for the waiting alone."""
POLLING: Final = f"""
{PATIENT}
import asyncio
from holdfast_agent.bells import Bell
async def until(self, met, *, within_s):
    end = asyncio.get_running_loop().time() + within_s
    while not met() and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.02)
    return met()
Bell.until = until
"""
"""Mutant: looks again and again."""


class Line:
    """Between client and agent: counts requests, and cuts all that is open when told to."""

    def __init__(self, agent: Agent, path: Path) -> None:
        self._agent = agent.address.removeprefix("unix:")
        self._path = path
        self._writers: set[asyncio.StreamWriter] = set()
        self.requests = 0
        self._heard = asyncio.Event()
        self.deaf = False
        """What is said now is lost."""

    @property
    def address(self) -> str:
        return f"unix:{self._path}"

    @asynccontextmanager
    async def open(self) -> AsyncGenerator["Line"]:
        server = await asyncio.start_unix_server(self._serve, self._path, backlog=1024)
        try:
            yield self
        finally:
            server.close()
            self.cut()

    async def asked(self, requests: int) -> None:
        """Until there were so many."""
        async with asyncio.timeout(SOON_S):
            while self.requests < requests:
                await self._heard.wait()
                self._heard.clear()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_unix_connection(self._agent)
        self._writers |= {writer, asks}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pump(reader, asks))
                tasks.create_task(self._pump(answers, writer))
        except* OSError:
            pass
        finally:
            self._writers -= {writer, asks}
            writer.transport.abort()
            asks.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            self.requests += data.count(b" HTTP/1.1\r\n")
            self._heard.set()
            if self.deaf:
                continue
            writer.write(data)
            await writer.drain()
        writer.write_eof()


async def waiting(client: AgentClient) -> Look:
    return await client.look("c", "k", wait_s=10 * SOON_S, until="exit")


async def five_hundred(agent: Agent, line: Line, seconds: int) -> tuple[int, bool]:
    """Requests of the waits, and whether the agent rested for two seconds within so many."""
    async with AgentClient(line.address) as client:
        await client.start("c", "k", Start(command="read line; date +%s.%N", input="open"))
        before = line.requests
        async with asyncio.timeout(5 * SOON_S), asyncio.TaskGroup() as tasks:
            waits = [tasks.create_task(waiting(client)) for _ in range(WAITS)]
            await line.asked(before + WAITS)
            rests = 0
            for _ in range(seconds):  # a slow machine is still busy with what was asked
                cpu_s, naps = agent.cpu_s(), agent.naps()
                await asyncio.sleep(1)  # Real time: what the agent does in a second is counted.
                quiet = agent.cpu_s() - cpu_s <= 0.02 and agent.naps() - naps <= 10
                rests = rests + 1 if quiet else 0
                if rests == 2:  # in one alone a busy machine may not have let it work
                    break
            requests = line.requests - before
            await client.write_input("c", "k", Input(text="\n"))
    assert {wait.result().process.state for wait in waits} == {State.ENDED}
    return requests, rests == 2


@requirement("L103")
async def test_five_hundred_waits_cost_a_request_each_and_no_polling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.workspace.client.SILENCE_S", 1000.0)
    with running_agent(tmp_path, mutant=PATIENT) as agent:
        async with Line(agent, tmp_path / "line").open() as line:
            requests, rested = await five_hundred(agent, line, seconds=40)
    assert requests == WAITS
    assert rested


async def test_polling_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.workspace.client.SILENCE_S", 1000.0)
    with running_agent(tmp_path, mutant=POLLING) as agent:
        async with Line(agent, tmp_path / "line").open() as line:
            _, rested = await five_hundred(agent, line, seconds=4)
    assert not rested


@requirement("L102")
async def test_a_long_wait_outlives_every_timeout_on_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Real time: the wait is longer than the client bears a silence, which is longer than a busy
    # machine is late with a blank.
    monkeypatch.setattr("holdfast.workspace.client.SILENCE_S", 4.0)
    with running_agent(tmp_path, mutant=IMPATIENT) as agent:
        async with (
            Line(agent, tmp_path / "line").open() as line,
            AgentClient(line.address) as client,
        ):
            await client.start("c", "k", Start(command="sleep 5; echo done"))
            before = line.requests
            look = await client.look("c", "k", wait_s=SOON_S)
            assert (look.process.state, look.output.text) == (State.ENDED, "done\n")
            assert line.requests == before + 1


async def test_without_a_sign_of_life_the_wait_breaks_and_a_second_look_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_agent(tmp_path) as agent:
        async with AgentClient(agent.address) as client:
            await client.start("c", "k", Start(command="echo so far; sleep 1000"))
            await client.look("c", "k", wait_s=SOON_S, until="output")
            monkeypatch.setattr("holdfast.workspace.client.SILENCE_S", 3.0)
            look = await client.look("c", "k", wait_s=SOON_S)
            assert (look.process.state, look.output.text) == (State.RUNNING, "so far\n")


@requirement("L101")
async def test_a_cut_wait_yields_the_real_result_of_what_has_ended(
    agent: Agent, client: AgentClient, tmp_path: Path
) -> None:
    async with (
        Line(agent, tmp_path / "line").open() as line,
        AgentClient(line.address) as far,
    ):
        await client.start("d", "k", Start(command="read line; echo result; exit 4", input="open"))
        async with asyncio.TaskGroup() as tasks:
            wait = tasks.create_task(far.look("d", "k", wait_s=SOON_S))
            await line.asked(1)
            # It ends, and the answer that says so is lost on its way.
            line.deaf = True
            await client.write_input("d", "k", Input(text="\n"))
            await client.look("d", "k", wait_s=SOON_S)
            line.deaf = False
            line.cut()
        look = wait.result()
    assert (look.process.exit_code, look.output.text) == (4, "result\n")


@requirement("L101")
async def test_a_wait_that_is_cut_falls_back_to_what_there_is(
    agent: Agent, client: AgentClient, tmp_path: Path
) -> None:
    async with (
        Line(agent, tmp_path / "line").open() as line,
        AgentClient(line.address) as far,
    ):
        await client.start("e", "k", Start(command="echo so far; sleep 1000"))
        await client.look("e", "k", wait_s=SOON_S, until="output")
        async with asyncio.TaskGroup() as tasks:
            # Beyond the cut the agent waits on, to the end of this time.
            wait = tasks.create_task(far.look("e", "k", wait_s=5))
            await line.asked(1)
            line.cut()
        look = wait.result()
        assert (look.process.state, look.output.text) == (State.RUNNING, "so far\n")
        assert line.requests == 2
    await client.stop("e", "k")


async def test_an_agent_that_dies_while_somebody_waits_is_gone(tmp_path: Path) -> None:
    with running_agent(tmp_path) as agent:
        async with AgentClient(agent.address) as client:
            await client.start("c", "k", Start(command="sleep 1000"))
            async with asyncio.TaskGroup() as tasks:
                wait = tasks.create_task(gone(client))
                await asyncio.sleep(0)
                await client.about()  # was asked later, and has been answered
                agent.kill()
            assert wait.result()


async def gone(client: AgentClient) -> bool:
    with pytest.raises(AgentGone):
        await client.look("c", "k", wait_s=SOON_S)
    return True


async def test_a_wait_ends_in_time_when_nothing_happens(client: AgentClient) -> None:
    await client.start("f", "k", Start(command="sleep 1000"))
    began = time.monotonic()
    look = await client.look("f", "k", wait_s=0.3)
    assert look.process.state is State.RUNNING
    assert time.monotonic() - began >= 0.3
    await client.stop("f", "k")
