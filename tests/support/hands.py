"""A chat with a real workspace: a keeper on a real database, an agent process, the toolbox."""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from holdfast.adapters.workspaces.client import AgentClient
from holdfast.adapters.workspaces.keeper import Keeper
from holdfast.adapters.workspaces.local import Local, LocalOptions
from holdfast.domain.chat import Chat, OpenCall
from holdfast.domain.ids import CallId, Epoch, Seq
from holdfast.domain.parts import ToolCall
from holdfast.domain.workspaces import Workspace
from holdfast.ports.tools import Run, Toolbox, ToolContext, ToolOutput
from holdfast.ports.workspaces import Template
from holdfast.tools.workspace.toolbox import WorkspaceTools
from holdfast_lab.chaos.harness.folders import running_in
from tests.support.workspaces import QUICK, Yard, a_yard

PATIENT = replace(QUICK, patience_s=100.0)
"""A real agent takes a second to start, and on a busy machine many."""


@dataclass
class Hands:
    """One server's hands in one chat. `shown`: what was emitted, live."""

    yard: Yard
    keeper: Keeper
    chat: Chat
    toolbox: Toolbox
    shown: list[str] = field(default_factory=list[str])
    places: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Where each call was asked for, as the commit of its reply keeps it."""

    def asked(self, tool: str, call_id: str) -> OpenCall:
        return OpenCall(call_id=CallId(call_id), tool=tool, seq=Seq(2), epoch=Epoch(1))

    async def call(
        self, tool: str, call_id: str = "", *, again: bool = False, **arguments: Any
    ) -> ToolOutput:
        call_id = call_id or f"c{len(self.shown)}-{os.urandom(4).hex()}"
        call = ToolCall(CallId(call_id), tool, arguments)
        key = self.asked(tool, call_id).key
        place = self.places.setdefault(call_id, self.toolbox.place)
        run = Run(
            chat=self.chat, call=call, key=key, emit=self.shown.append, again=again, place=place
        )
        return await self.toolbox.run(run)

    async def says(self, tool: str, call_id: str = "", **arguments: Any) -> str:
        output = await self.call(tool, call_id, **arguments)
        assert not output.failed, output
        assert not output.unknown, output
        return str(output.value)

    async def workspace(self) -> Workspace:
        found = await self.keeper.of_chat(self.chat.chat_id)
        assert found is not None
        return found

    async def files(self) -> Path:
        return self.yard.files(await self.workspace())

    def kill_agent(self) -> None:
        """As if its machine had lost power: nobody cleans up."""
        for pid in running_in(self.yard.folder):
            if b"holdfast_agent" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)

    @asynccontextmanager
    async def next_turn(self) -> AsyncGenerator["Hands"]:
        """The same server's, in another turn."""
        async with tools_of(self.keeper).open(ToolContext(self.chat)) as toolbox:
            yield replace(self, toolbox=toolbox, shown=[])

    @asynccontextmanager
    async def successor(self) -> AsyncGenerator["Hands"]:
        """Another server's hands in the same chat."""
        keeper = await self.yard.keeper(real_local(self.yard), options=PATIENT)
        async with tools_of(keeper).open(ToolContext(self.chat)) as toolbox:
            yield replace(self, keeper=keeper, toolbox=toolbox, shown=[])


def real_local(yard: Yard, **options: Any) -> Local:
    template = Template(name="local", description="A folder.")
    given: dict[str, Any] = {
        "folder": yard.folder,
        "sandbox": "external",
        "start_s": 90.0,
        **options,
    }
    return Local(template, LocalOptions(**given))


def connect(keeper: Keeper, workspace: Workspace) -> AbstractAsyncContextManager[AgentClient]:
    assert workspace.address is not None
    return AgentClient(workspace.address, keeper.token_of(workspace))


def tools_of(keeper: Keeper) -> WorkspaceTools:
    return WorkspaceTools(keeper, lambda workspace: connect(keeper, workspace))


@asynccontextmanager
async def hands(template: str) -> AsyncGenerator[Hands]:
    """A new chat without a workspace."""
    async with a_yard(template) as yard:
        keeper = await yard.keeper(real_local(yard), options=PATIENT)
        chat = await yard.chat()
        async with tools_of(keeper).open(ToolContext(chat)) as toolbox:
            yield Hands(yard, keeper, chat, toolbox)


@asynccontextmanager
async def hands_on(template: str) -> AsyncGenerator[Hands]:
    """With a workspace that runs."""
    async with hands(template) as found:
        await found.says("create_workspace")
        yield found
