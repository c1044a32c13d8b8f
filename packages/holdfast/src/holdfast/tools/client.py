"""The tools that a chat declares, offered beside the server's own."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from holdfast.domain.chat import OpenCall
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.parts import Need
from holdfast.ports.tools import Run, Toolbox, ToolContext, ToolOutput, ToolSpec, always, never

NOT_OURS: Final = "Nothing was run: this tool is run by the client of the chat."


class ClientTools:
    """Put it last into `Combined`: of two with one name the server's own counts."""

    @property
    def names(self) -> frozenset[str]:
        """No name is reserved: each chat declares its own tools."""
        return frozenset()

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        yield _ClientToolbox({tool.name: _spec(tool) for tool in context.chat.tools})


class _ClientToolbox:
    def __init__(self, specs: Mapping[str, ToolSpec]) -> None:
        self.specs = specs
        self.place: str | None = None

    async def sections(self) -> Sequence[str]:
        return ()

    async def run(self, run: Run) -> ToolOutput:  # noqa: ARG002 - the port's
        """A call of such a tool waits for its result, and is not run here."""
        return ToolOutput(NOT_OURS, failed=True)

    async def stop(self, call: OpenCall) -> None:
        """Whatever runs, the client runs it."""


def _spec(tool: ClientTool) -> ToolSpec:
    return ToolSpec(
        name=tool.name,
        description=tool.description,
        schema=tool.schema,
        needs=Need.RESULT,
        sends_out=always if tool.open_world else never,
    )
