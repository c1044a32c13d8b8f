"""The tools of a workspace on a real agent, without a database: for the ergonomics suite."""

import uuid
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from holdfast.adapters.workspaces.client import AgentClient
from holdfast.domain.chat import Chat
from holdfast.domain.ids import CallId, ChatId
from holdfast.domain.parts import ToolCall
from holdfast.domain.workspaces import Workspace, WorkspaceId, WorkspaceStatus
from holdfast.ports.tools import Run, ToolOutput
from holdfast.ports.workspaces import Template
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.toolbox import WorkspaceToolbox, offers
from tests.support.agents import Agent
from tests.support.builders import ORG, OWNER, a_chat

TEMPLATES: Final = (Template(name="local", description="A folder."),)


class OneWorkspace:
    """A workspace that runs, for every chat."""

    templates = TEMPLATES

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def of_chat(self, chat_id: ChatId) -> Workspace:
        return Workspace(
            workspace_id=WorkspaceId(uuid.UUID(int=1)),
            org_id=ORG,
            owner_id=OWNER,
            chat_id=chat_id,
            template="local",
            status=WorkspaceStatus.RUNNING,
            address=self._agent.address,
        )

    async def create(
        self,
        chat: Chat,
        template: str | None = None,
        *,
        ttl_s: int = 0,
    ) -> Workspace:
        return await self.of_chat(chat.chat_id)

    async def start(self, chat_id: ChatId) -> Workspace:
        return await self.of_chat(chat_id)

    async def stop(self, chat_id: ChatId) -> Workspace:
        return await self.of_chat(chat_id)

    async def delete(self, chat_id: ChatId, *, expected: Any = None) -> Workspace:
        return await self.of_chat(chat_id)

    async def repair(self, workspace: Workspace) -> Workspace:
        return workspace

    async def touch(self, chat_id: ChatId) -> None:
        """It does not stop by itself."""

    def token_of(self, workspace: Workspace) -> str | None:
        return None


class BenchTools:
    """`says`: the text of a result that did not fail; `fails`: of one that did."""

    def __init__(self, toolbox: WorkspaceToolbox, chat: Chat) -> None:
        self._toolbox = toolbox
        self._chat = chat

    async def call(self, tool: str, **arguments: Any) -> ToolOutput:
        call = ToolCall(CallId(uuid.uuid4().hex), tool, arguments)
        run = Run(chat=self._chat, call=call, key=call.call_id, emit=lambda _text: None)
        return await self._toolbox.run(run)

    async def says(self, tool: str, **arguments: Any) -> str:
        output = await self.call(tool, **arguments)
        assert not output.failed, output.value
        return str(output.value)

    async def fails(self, tool: str, **arguments: Any) -> str:
        output = await self.call(tool, **arguments)
        assert output.failed, output.value
        return str(output.value)


@asynccontextmanager
async def bench_tools(agent: Agent) -> AsyncGenerator[BenchTools]:
    """With a chat of its own: no test sees the processes of another."""
    chat = a_chat(chat_id=ChatId(uuid.uuid4()))
    async with AsyncExitStack() as stack:
        binding = Binding(
            chat, OneWorkspace(agent), lambda found: AgentClient(found.address or ""), stack
        )
        yield BenchTools(WorkspaceToolbox(binding, offers(TEMPLATES)), chat)
