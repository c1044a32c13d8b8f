"""`execute` in a tree that means harm: the model works with git, and nothing of the tree runs."""

from contextlib import AsyncExitStack

import pytest

from holdfast.ports.tools import ToolContext
from tests.requirements import requirement
from tests.support.hands import PATIENT, Hands, real_local, tools_of
from tests.support.hostile import Hostile, hostile_tree
from tests.support.workspaces import Yard


async def worked(yard: Yard, stack: AsyncExitStack, *arguments: str) -> tuple[Hostile, str]:
    """A model that opens, compares and commits all that lies there; what it was told."""
    keeper = await yard.keeper(real_local(yard, arguments=arguments), options=PATIENT)
    chat = await yard.chat()
    toolbox = await stack.enter_async_context(tools_of(keeper).open(ToolContext(chat)))
    hands = Hands(yard, keeper, chat, toolbox)
    await hands.says("create_workspace")
    root = await hands.files()
    hostile = hostile_tree(root, root / "ran")
    told = await hands.says("execute", command=hostile.script)
    return hostile, told + await hands.says("execute", command="git log -1 --format=%s")


@requirement("F17")
@pytest.mark.timeout(300)
async def test_a_hostile_tree_is_committed_by_a_model_and_nothing_of_it_runs(yard: Yard) -> None:
    async with AsyncExitStack() as stack:
        hostile, told = await worked(yard, stack)

        assert hostile.ran == set()
        assert "+third" in told
        assert told.endswith("\nwork\n")


@pytest.mark.timeout(300)
async def test_where_an_administrator_leaves_git_open_it_runs(yard: Yard) -> None:
    """Also the mutant: that the tree above would have run."""
    async with AsyncExitStack() as stack:
        hostile, _ = await worked(yard, stack, "--git", "open")

        assert hostile.ran >= {"fsmonitor", "in-.git", "in-stored-repository"}
