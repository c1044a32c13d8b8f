"""An agent that dies and comes back: no key runs twice, and what is unknown is said to be."""

import asyncio
from pathlib import Path
from typing import Final

import pytest

from holdfast.adapters.workspaces.client import AgentClient, AgentGone, AgentRefused
from holdfast_agent.wire import FaultCode, Start, State
from tests.requirements import requirement
from tests.support.agents import arguments, refused_start, running_agent

SOON_S: Final = 60
EFFECT: Final = Start(command="echo ran >> effects; echo up; sleep 1000")

FORGETFUL: Final = """
from holdfast_agent import journal
async def nothing(self, remembered): pass
journal.Journal.write = nothing
"""
"""Mutant: starts without having written down that it will."""
DIES_AFTER_IT: Final = """
import os, signal
from holdfast_agent import processes
real = processes.Processes._spawn
def dies(self, *given):
    real(self, *given)
    os.kill(os.getpid(), signal.SIGKILL)
processes.Processes._spawn = dies
"""
DIES_BEFORE_IT: Final = """
import os, signal
from holdfast_agent import processes
processes.Processes._spawn = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
"""


async def start_and_crash(folder: Path, mutant: str = "") -> None:
    with running_agent(folder, mutant=mutant) as agent:
        async with AgentClient(agent.address) as client:
            await client.start("c", "k", EFFECT)
            async with asyncio.timeout(SOON_S):
                while not (await client.look("c", "k", wait_s=5, until="output")).output.text:
                    pass
        agent.kill()


async def start_again(folder: Path) -> tuple[State, list[str]]:
    """The same start, said to a successor; what it answers, and how often it ran by then."""
    with running_agent(folder) as agent:
        async with AgentClient(agent.address) as client:
            state = (await client.start("c", "k", EFFECT)).state
            await client.look("c", "k", wait_s=1, until="output")
    effects = folder / "root" / "effects"
    return state, effects.read_text().split() if effects.exists() else []


@requirement("L116")
async def test_what_ran_when_the_agent_died_is_lost_and_does_not_run_again(folder: Path) -> None:
    await start_and_crash(folder)
    assert await start_again(folder) == (State.LOST, ["ran"])


async def test_a_start_that_was_not_written_down_is_noticed(folder: Path) -> None:
    await start_and_crash(folder, FORGETFUL)
    assert await start_again(folder) == (State.RUNNING, ["ran", "ran"])


@requirement("L116")
@pytest.mark.parametrize("mutant", [DIES_BEFORE_IT, DIES_AFTER_IT], ids=["before", "after"])
async def test_an_agent_that_dies_at_the_start_itself_runs_it_at_most_once(
    folder: Path, mutant: str
) -> None:
    with running_agent(folder, mutant=mutant) as agent:
        async with AgentClient(agent.address) as client:
            with pytest.raises(AgentGone):
                await client.start("c", "k", EFFECT)
    state, effects = await start_again(folder)
    assert state is State.LOST
    assert len(effects) <= 1


async def test_lost_says_so_and_ids_go_on(folder: Path) -> None:
    await start_and_crash(folder)
    with running_agent(folder) as agent:
        async with AgentClient(agent.address) as client:
            look = await client.look("c", "k", wait_s=SOON_S)
            assert look.process.state is State.LOST
            assert "restarted" in (look.process.reason or "")
            assert (await client.stop("c", "p1")).state is State.LOST
            assert (await client.start("c", "next", Start(command="true"))).id == "p2"


async def test_what_had_ended_keeps_its_exit_code_and_says_that_its_output_is_gone(
    folder: Path,
) -> None:
    with running_agent(folder) as agent:
        async with AgentClient(agent.address) as client:
            await client.start("c", "k", Start(command="echo words; exit 7"))
            await client.look("c", "k", wait_s=SOON_S)
        agent.kill()
    with running_agent(folder) as agent:
        async with AgentClient(agent.address) as client:
            look = await client.look("c", "k")
            assert (look.process.state, look.process.exit_code) == (State.ENDED, 7)
            assert (look.output.missed, look.output.text) == (6, "")
            assert "no longer kept" in (look.process.reason or "")


async def test_long_output_of_what_had_ended_is_still_in_its_file(folder: Path) -> None:
    with running_agent(folder) as agent:
        async with AgentClient(agent.address) as client:
            await client.start("c", "k", Start(command="seq 1 20000"))
            await client.look("c", "k", wait_s=SOON_S)
        agent.kill()
    with running_agent(folder) as agent:
        async with AgentClient(agent.address) as client:
            look = await client.look("c", "k")
            assert "its output is in .holdfast/out/p1.log" in (look.process.reason or "")
            assert look.process.output_path is not None
            saved = (folder / "root" / look.process.output_path).read_text()
            assert saved == "".join(f"{number}\n" for number in range(1, 20001))


async def test_a_tombstone_outlives_the_agent(folder: Path) -> None:
    with running_agent(folder) as agent:
        async with AgentClient(agent.address) as client:
            await client.stop("c", "k")
        agent.kill()
    with running_agent(folder) as agent:
        async with AgentClient(agent.address) as client:
            with pytest.raises(AgentRefused) as refused:
                await client.start("c", "k", EFFECT)
            assert refused.value.code is FaultCode.STOPPED
    assert not (folder / "root" / "effects").exists()


def test_a_second_agent_with_the_same_state_does_not_start(folder: Path) -> None:
    with running_agent(folder):
        code, words = refused_start(arguments(folder, listen=f"unix:{folder}/other.sock"))
    assert code == 2
    assert "another agent runs" in words
