"""An agent that builds its own wall: commands run behind it, are bounded, and all of them end."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from holdfast.adapters.workspaces.client import AgentClient
from holdfast_agent.wire import Look, Start, State
from holdfast_lab.chaos.faults.sandbox.wall import give, workspace
from tests.support.agents import Agent, alive_with, running_agent

CHAT: Final = "chat"


@asynccontextmanager
async def walled_agent(*flags: str) -> AsyncGenerator[tuple[Agent, AgentClient]]:
    with workspace() as root:
        folder = root.parent
        (folder / "root").mkdir()
        give(folder / "root")
        walled = ("--sandbox", "bubblewrap", "--disk-free-mib-min", "0", *flags)
        with running_agent(folder, *walled) as agent:
            async with AgentClient(agent.address) as client:
                yield agent, client


async def ended(client: AgentClient, key: str, command: str) -> Look:
    await client.start(CHAT, key, Start(command=command))
    async with asyncio.timeout(60):
        return await client.look(CHAT, key, after=0, wait_s=50, until="exit")


async def test_a_command_runs_behind_the_wall_of_its_agent() -> None:
    async with walled_agent() as (agent, client):
        about = await client.about()
        look = await ended(client, "one", "id -u; pwd; echo kept > file; ls /; cat /etc/shadow")
        kept = (agent.root / "file").read_text()

    assert about.sandbox.mode == "bubblewrap"
    assert about.sandbox.works, about.sandbox.escapes
    assert about.root == "/workspace"
    assert look.process.state is State.ENDED
    assert look.output.text.startswith("1000\n/workspace\n")
    assert "No such file" in look.output.text
    assert "root" not in look.output.text.split()
    assert kept == "kept\n"


async def test_a_limit_that_was_hit_is_told_as_the_reason() -> None:
    async with walled_agent("--memory-mib-max", "64") as (_, client):
        look = await ended(client, "hog", "/usr/bin/python3 -c 'bytearray(300 << 20)'")

    assert look.process.reason is not None
    assert look.process.reason.startswith("out of memory: this workspace may use 64 MiB")


TREE: Final = 4
"""Processes of the tree at least."""


async def test_a_stopped_tree_is_gone_to_the_last_process() -> None:
    marker = f"holdfast-marker-{os.getpid()}"
    nasty = (
        "trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; sleep 1000' &);"
        " (setsid sh -c 'setsid sleep 1000 & sleep 1000' &); echo up; sleep 1000"
    )
    async with walled_agent() as (_, client):
        await client.start(CHAT, "nasty", Start(command=nasty, env={"MARKER": marker}))
        async with asyncio.timeout(60):
            await client.look(CHAT, "nasty", after=0, wait_s=50, until="output")
            while len(alive_with(marker)) < TREE:  # noqa: ASYNC110 - the tree says nothing
                await asyncio.sleep(0.02)
        stopped = await client.stop(CHAT, "nasty")
        after = alive_with(marker)

    assert stopped.state is State.ENDED
    assert after == []


async def test_tmp_and_home_are_kept_while_the_agent_runs_and_gone_after_a_crash() -> None:
    with workspace() as root:
        folder = root.parent
        (folder / "root").mkdir()
        give(folder / "root")
        walled = ("--sandbox", "bubblewrap", "--disk-free-mib-min", "0")
        marker = f"holdfast-marker-{os.getpid()}"
        with running_agent(folder, *walled) as agent:
            async with AgentClient(agent.address) as client:
                about = await client.about()
                await ended(client, "one", f"echo {marker} | tee /tmp/file ~/file")
                kept = await ended(client, "two", "cat /tmp/file ~/file")
            agent.kill()
        with running_agent(folder, *walled) as agent:
            async with AgentClient(agent.address) as client:
                gone = await ended(client, "three", "ls -A /tmp ~")

    assert about.tmp == "workspace"
    assert kept.output.text == f"{marker}\n{marker}\n"
    assert gone.output.text == "/home/user:\n\n/tmp:\n"


async def test_the_shell_is_the_one_that_the_agent_names() -> None:
    async with walled_agent() as (_, client):
        about = await client.about()
        look = await ended(client, "one", "echo ${BASH_VERSION:+bash}")
        quiet = await ended(client, "two", "echo ci=$CI")

    assert about.shell == ("bash" if os.access("/bin/bash", os.X_OK) else "sh")
    assert look.output.text == ("bash\n" if about.shell == "bash" else "\n")
    assert quiet.output.text == "ci=\n"
