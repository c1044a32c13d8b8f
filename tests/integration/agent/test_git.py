"""Commands that use git in a hostile tree, through a real agent, with either wall."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import pytest

from holdfast.workspace.client import AgentClient
from holdfast_agent.wire import ReadFile, Start
from holdfast_lab.chaos.walls.wall import give, workspace
from tests.requirements import requirement
from tests.support.agents import running_agent
from tests.support.hostile import HOOKS, Hostile, hostile_tree

UNGUARDED: Final = "import holdfast_agent.serving as s; s.git_env = lambda *_: {}"
"""The mutant: the guard is asked for and says nothing."""


@asynccontextmanager
async def hostile_agent(
    sandbox: str, *flags: str, mutant: str = ""
) -> AsyncGenerator[tuple[Hostile, AgentClient]]:
    with workspace() as place:
        root = place.parent / "root"
        root.mkdir()
        seen_as = "/workspace" if sandbox == "bubblewrap" else str(root)
        hostile = hostile_tree(root, root / "ran", seen_as=seen_as)
        if sandbox == "bubblewrap":
            give(root)
        walled = ("--sandbox", sandbox, "--disk-free-mib-min", "0", *flags)
        with running_agent(place.parent, *walled, mutant=mutant) as agent:
            async with AgentClient(agent.address) as client:
                yield hostile, client


async def said(client: AgentClient, command: str) -> str:
    await client.start("chat", f"key-{hash(command)}", Start(command=command))
    async with asyncio.timeout(100):
        look = await client.look("chat", f"key-{hash(command)}", after=0, wait_s=90)
    return look.output.text


@requirement("F17")
@pytest.mark.parametrize("sandbox", ["external", "bubblewrap"])
async def test_a_hostile_tree_is_opened_compared_and_committed_and_nothing_of_it_runs(
    sandbox: str,
) -> None:
    async with hostile_agent(sandbox) as (hostile, client):
        output = await said(client, hostile.script)
        logged = await said(client, "git log --oneline; git -C deep/er/down log --oneline")
        ran = hostile.ran

    assert ran == set()
    assert "+third" in output
    assert logged.count("work\n") == 2


@pytest.mark.parametrize("sandbox", ["external", "bubblewrap"])
async def test_without_the_guard_it_runs(sandbox: str) -> None:
    async with hostile_agent(sandbox, mutant=UNGUARDED) as (hostile, client):
        await said(client, hostile.script)
        ran = hostile.ran

    assert ran >= {"fsmonitor", "clean", "in-.git", "in-deep-er-down-.git"}


async def test_who_wants_hooks_can_have_them() -> None:
    """By the command, which says so; or for a whole workspace, by its template."""
    async with hostile_agent("external") as (hostile, client):
        by_name = await said(client, "git -c core.hooksPath=.git/hooks checkout -q -b another")
        asked_for = hostile.ran
    async with hostile_agent("external", "--git", "open") as (hostile, client):
        await said(client, "git checkout -q -b another")
        open_to_all = hostile.ran

    assert "post-checkout" in asked_for, by_name
    assert asked_for <= {*HOOKS, "in-.git"}
    assert "post-checkout" in open_to_all
    assert "fsmonitor" in open_to_all


async def test_settings_by_the_hundred_switch_git_off_and_nothing_else() -> None:
    """Bubblewrap takes only so many words: a tree must not be able to stop all commands."""
    async with hostile_agent("bubblewrap") as (hostile, client):
        many = "".join(f'[filter "f{n}"]\nclean = y\n' for n in range(950))
        with (hostile.root / "inner/.git/config").open("a") as config:
            config.write(many)
        fits = await said(client, "git --version; echo fits")
        with (hostile.root / "inner/.git/config").open("a") as config:
            config.write(many.replace('"f', '"g'))
        over = await said(client, "git status; echo over")

    assert "fits\n" in fits
    assert "git is switched off" in over
    assert "over\n" in over


async def test_files_are_found_by_the_name_that_commands_know_them_by() -> None:
    async with hostile_agent("bubblewrap") as (_, client):
        found = await client.read(ReadFile(path="/workspace/data.txt"))

    assert found.text == "third\n"
