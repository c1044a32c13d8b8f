"""The workspace's tools as a turn has them."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from holdfast.adapters.workspaces.client import AgentGone, AgentRefused
from holdfast.domain.chat import OpenCall
from holdfast.domain.errors import Unavailable
from holdfast.domain.workspaces import WorkspaceStatus
from holdfast.ports.tools import Effect, Run, Toolbox, ToolContext, ToolOutput, ToolSpec
from holdfast.ports.workspaces import Template, Workspaces, WorkspaceUnusable
from holdfast.tools.workspace.awareness import without
from holdfast.tools.workspace.binding import Binding, Connect, agent_key
from holdfast.tools.workspace.edits import EDITS
from holdfast.tools.workspace.execute import EXECUTE
from holdfast.tools.workspace.files import FILES
from holdfast.tools.workspace.offer import Offer
from holdfast.tools.workspace.places import introduced, places
from holdfast.tools.workspace.plans import PROPOSE
from holdfast.tools.workspace.processes import PROCESSES

AWARE_S: Final = 3.0
"""How long a turn may be held up by a workspace that does not answer."""
CUT_OFF: Final = (
    "Outcome unknown: the connection to the workspace broke ({error}). This may or may not have "
    "taken effect: look before you do it again."
)
NO_DATABASE: Final = "The server cannot reach its database now. Try again."
_LOG: Final = logging.getLogger(__name__)


def offers(templates: Sequence[Template]) -> tuple[Offer[Any], ...]:
    """All tools, in the order in which a model sees them."""
    return (EXECUTE, *PROCESSES, *FILES, *EDITS, *places(templates), PROPOSE)


class WorkspaceTools:
    """Where no template is configured nothing is offered: a chat could never have a workspace."""

    def __init__(self, workspaces: Workspaces, connect: Connect) -> None:
        self._workspaces = workspaces
        self._connect = connect

    @property
    def names(self) -> frozenset[str]:
        return frozenset(each.spec.name for each in self._offers())

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        async with AsyncExitStack() as stack:
            binding = Binding(context.chat, self._workspaces, self._connect, stack)
            yield WorkspaceToolbox(binding, self._offers())

    def _offers(self) -> tuple[Offer[Any], ...]:
        templates = self._workspaces.templates
        return offers(templates) if templates else ()


class WorkspaceToolbox:
    def __init__(self, binding: Binding, offered: Sequence[Offer[Any]]) -> None:
        self._binding = binding
        self._offers = {each.spec.name: each for each in offered}
        self.specs: Mapping[str, ToolSpec] = {each.spec.name: self._spec(each) for each in offered}

    def _spec(self, offered: Offer[Any]) -> ToolSpec:
        """What runs commands sends nothing out of a workspace without a network."""
        if not offered.spec.sends_out():
            return offered.spec
        return replace(offered.spec, sends_out=lambda: self._binding.has_network)

    @property
    def place(self) -> str | None:
        return self._binding.place

    async def sections(self) -> Sequence[str]:
        """Whatever is wrong with a workspace, a turn does not fail of it, nor wait for long."""
        if not self._offers:
            return ()
        binding, workspace = self._binding, None
        try:
            async with asyncio.timeout(AWARE_S):
                workspace = await binding.found()
                if workspace is not None and workspace.status is WorkspaceStatus.RUNNING:
                    return await introduced(binding, workspace)
        except (TimeoutError, Unavailable, WorkspaceUnusable, AgentGone, AgentRefused) as error:
            _LOG.warning(
                "tools: workspace of chat %s cannot be reached: %r", binding.chat_id, error
            )
        return (without(workspace, binding.workspaces.templates),)

    async def run(self, run: Run) -> ToolOutput:
        """Whatever the world refuses is an answer; the words are for the model."""
        offered = self._offers[run.call.tool]
        try:
            return await offered.run(self._binding, run)
        except (WorkspaceUnusable, AgentRefused) as error:
            return ToolOutput(str(error), failed=True)
        except AgentGone as gone:
            return ToolOutput(CUT_OFF.format(error=gone), unknown=True)
        except Unavailable:
            doubtful = run.again and offered.spec.effect is not Effect.REPEATABLE
            return ToolOutput(NO_DATABASE, failed=True, unknown=doubtful)

    async def stop(self, call: OpenCall) -> None:
        """Only a command runs on without us. The agent refuses a command that it does not know
        from now on: a frozen or slow worker may still be about to start it."""
        if call.tool != EXECUTE.spec.name:
            return
        workspace = await self._binding.found()
        if workspace is None or workspace.status is not WorkspaceStatus.RUNNING:
            return  # what ran there ended with it
        binding, key = self._binding, agent_key(call.key)
        await binding.use(lambda agent: agent.stop(binding.chat_id, key))
