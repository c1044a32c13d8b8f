"""Tools as a model uses them, on files in a folder: arguments in, text out, and no server between.

The agent's own functions do the work; what they send goes through JSON, as on the wire.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel

from holdfast.adapters.workspaces.client import AgentRefused
from holdfast.chats.outputs import fitted, storable
from holdfast.domain.chat import Status
from holdfast.domain.ids import CallId
from holdfast.domain.parts import ToolCall
from holdfast.ports.tools import Run, ToolOutput
from holdfast.tools.workspace.files import FILES
from holdfast_agent.faults import Refused
from holdfast_agent.files import listing, reading
from holdfast_agent.files.beneath import Beneath
from holdfast_agent.files.looking import Looker
from holdfast_agent.wire import (
    FindFiles,
    Found,
    Lines,
    Listed,
    ListFiles,
    Matches,
    ReadFile,
    SearchFiles,
)
from tests.support.builders import a_chat

T = TypeVar("T", bound=BaseModel)
CHAT = a_chat(Status.RUNNING)
TOOLS = {each.spec.name: each for each in FILES}


class FolderAgent:
    """The part of `AgentClient` and `Binding` that the file tools use."""

    def __init__(self, beneath: Beneath, ripgrep: str | None = None) -> None:
        self._beneath = beneath
        self._looker = Looker(beneath, ripgrep, 300.0)

    async def use(self, ask: "Callable[[FolderAgent], Awaitable[T]]") -> T:
        return await ask(self)

    async def read(self, asked: ReadFile) -> Lines:
        return _sent(Lines, lambda: reading.read(self._beneath, asked))

    async def list(self, asked: ListFiles) -> Listed:
        return _sent(Listed, lambda: listing.list_files(self._beneath, asked))

    async def find(self, asked: FindFiles) -> Found:
        return _sent(Found, lambda: self._looker.find(asked))

    async def search(self, asked: SearchFiles) -> Matches:
        return _sent(Matches, lambda: self._looker.search(asked))

    async def call(self, tool: str, *, bytes_max: int = 32 * 1024, **arguments: Any) -> ToolOutput:
        """One call, with the limit of its result. A result above its limit is a failure here."""
        run = Run(
            chat=CHAT,
            call=ToolCall(CallId("1"), tool, arguments),
            key="2.1",
            emit=lambda _: None,
            output_bytes_max=bytes_max,
        )
        binding: Any = self
        try:
            output = await TOOLS[tool].run(binding, run)
        except AgentRefused as refused:
            return ToolOutput(refused.message, failed=True)
        _, is_cut = fitted(storable(output.value), bytes_max)
        assert not is_cut, f"{tool} returned more than its limit"
        return output

    async def says(self, tool: str, *, bytes_max: int = 32 * 1024, **arguments: Any) -> str:
        output = await self.call(tool, bytes_max=bytes_max, **arguments)
        assert not output.failed, output.value
        return str(output.value)


def _sent(kind: type[T], do: Callable[[], BaseModel]) -> T:
    try:
        return kind.model_validate_json(do().model_dump_json())
    except Refused as refused:
        raise AgentRefused(refused.code, refused.message) from refused
