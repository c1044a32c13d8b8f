"""Nothing survives: neither a stop, nor the end of the agent, whatever a tree does to hide."""

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from holdfast.workspace.client import AgentClient
from holdfast_agent.wire import Start, State
from tests.support.agents import Agent, alive_with, running_agent

TRIALS: Final = 3
"""In each way to keep a tree together; `just agent-kill 100` for a campaign."""
SOON_S: Final = 60

STUBBORN: Final = "trap '' TERM INT HUP QUIT USR1 USR2; echo up; while :; do sleep 0.05; done"
NASTY: Final = f"""
sleep 1000 &
setsid sleep 1000 &
(setsid sh -c "{STUBBORN}" &)
(setsid sh -c 'setsid sh -c "sleep 1000 & echo up; sleep 1000" & exit' &)
python3 -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        for fd in range(3): os.close(fd)
        time.sleep(1000)
    os._exit(0)
os.wait()
print("up", flush=True)
'
{STUBBORN}
"""
UPS: Final = 4

KEEPER_KILLER: Final = f'(setsid sh -c "{STUBBORN}" &)\nsleep 0.2; kill -9 $PPID\n{STUBBORN}'
"""Where nothing stops it, a command may kill what stands above it."""

ONLY_THE_FIRST: Final = """
import os, signal
from holdfast_agent import spawned
spawned.Spawned._strike = lambda self: os.kill(self.pid, signal.SIGKILL)
async def nobody(roots, family): pass
from holdfast_agent import processes
processes.strangers_gone = nobody
"""
"""Mutant: kills the launcher and trusts that the rest follows."""
GROUP_ONLY: Final = ONLY_THE_FIRST.replace("os.kill", "os.killpg")
"""Mutant: kills the process group, as most do."""


async def start_tree(client: AgentClient, key: str, marker: str) -> None:
    await client.start("c", key, Start(command=NASTY, env={"MARKER": marker}))
    after, ups = 0, 0
    async with asyncio.timeout(SOON_S):
        while ups < UPS:
            look = await client.look("c", key, after=after, wait_s=5, until="output")
            assert look.process.state is State.RUNNING, look
            ups, after = ups + look.output.text.count("up"), look.output.end


async def survivors(folder: Path, tree: str, trials: int, mutant: str = "") -> int:
    alive = 0
    with running_agent(folder, "--tree", tree, mutant=mutant) as agent:
        async with AgentClient(agent.address) as client:
            for trial in range(trials):
                marker = f"{folder.name}-{agent.pid}-{trial}-"
                await start_tree(client, f"k{trial}", marker)
                assert len(alive_with(marker)) >= 8
                await client.stop("c", f"k{trial}")
                left = alive_with(marker)
                alive += len(left)
                for pid in left:
                    with suppress(ProcessLookupError):  # it may end by itself
                        os.kill(pid, signal.SIGKILL)
    return alive


@pytest.mark.parametrize("tree", ["namespace", "keeper"])
async def test_nothing_of_a_tree_is_alive_when_a_stop_has_answered(folder: Path, tree: str) -> None:
    assert await survivors(folder, tree, TRIALS) == 0


@pytest.mark.parametrize("mutant", [ONLY_THE_FIRST, GROUP_ONLY], ids=["first", "group"])
async def test_killing_less_than_the_tree_is_noticed(folder: Path, mutant: str) -> None:
    assert await survivors(folder, "keeper", 1, mutant) > 0


async def test_what_a_command_leaves_in_the_background_ends_with_it(folder: Path) -> None:
    for tree in ("namespace", "keeper"):
        with running_agent(folder / tree, "--tree", tree) as agent:
            async with AgentClient(agent.address) as client:
                marker = f"{folder.name}-{tree}"
                leaving = "sleep 1000 & (setsid sleep 1000 &) ; echo left"
                await client.start("c", "k", Start(command=leaving, env={"MARKER": marker}))
                look = await client.look("c", "k", wait_s=SOON_S)
                assert (look.process.exit_code, look.output.text) == (0, "left\n")
                assert alive_with(marker) == []


async def test_a_command_that_kills_its_keeper_is_ended_all_the_same(folder: Path) -> None:
    with running_agent(folder, "--tree", "keeper") as agent:
        async with AgentClient(agent.address) as client:
            marker = f"{folder.name}-marker"
            start = Start(command=KEEPER_KILLER, env={"MARKER": marker})
            await client.start("c", "k", start)
            look = await client.look("c", "k", wait_s=SOON_S)
            assert (look.process.state, look.process.signal) == (State.ENDED, "KILL")
            assert "up" in look.output.text
            assert alive_with(marker) == []


async def gone(marker: str, within_s: float = SOON_S) -> bool:
    deadline = time.monotonic() + within_s
    while alive_with(marker):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


@pytest.mark.parametrize("tree", ["namespace", "keeper"])
@pytest.mark.parametrize("end", [Agent.kill, Agent.terminate])
async def test_processes_end_with_their_agent(
    folder: Path, tree: str, end: Callable[[Agent], None]
) -> None:
    with running_agent(folder, "--tree", tree) as agent:
        async with AgentClient(agent.address) as client:
            await start_tree(client, "k", folder.name)
        end(agent)
        assert await gone(folder.name)


async def test_an_agent_killed_in_the_middle_of_a_start_leaves_nothing(folder: Path) -> None:
    for trial in range(TRIALS):
        marker = f"{folder.name}-{trial}-"
        with running_agent(folder / str(trial), "--tree", "namespace") as agent:
            async with AgentClient(agent.address) as client:
                for number in range(4):
                    start = Start(command="sleep 1000", env={"MARKER": marker})
                    await client.start("c", f"k{number}", start)
            agent.kill()
            assert await gone(marker)


async def until_ready(log: Path) -> None:
    async with asyncio.timeout(2 * SOON_S):
        while not log.exists() or "ready" not in log.read_text():  # noqa: ASYNC110, ASYNC240 - another process writes
            await asyncio.sleep(0.05)


async def test_the_agent_outlives_whoever_started_it(folder: Path) -> None:
    shell = shutil.which("sh")
    assert shell is not None
    (folder / "root").mkdir()
    script = (
        f'"$0" -m holdfast_agent --root {folder}/root --state {folder}/state '
        f"--listen unix:{folder}/agent.sock --sandbox external > {folder}/log 2>&1 & "
        f"echo $! > {folder}/pid; kill -9 $$"
    )
    starter = await asyncio.create_subprocess_exec(
        shell, "-c", script, sys.executable, start_new_session=True
    )
    assert await starter.wait() == -signal.SIGKILL
    pid = int((folder / "pid").read_text())
    try:
        await until_ready(folder / "log")
        os.kill(pid, signal.SIGHUP)
        async with AgentClient(f"unix:{folder}/agent.sock") as client:
            await client.start("c", "k", Start(command="echo still here"))
            look = await client.look("c", "k", wait_s=SOON_S)
            assert look.output.text == "still here\n"
    finally:
        os.kill(pid, signal.SIGTERM)
