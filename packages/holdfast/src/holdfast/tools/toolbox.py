"""Small toolboxes to build larger ones from: tools that are functions, and several as one."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

from holdfast.domain.chat import OpenCall
from holdfast.ports.tools import Run, Toolbox, ToolContext, ToolOutput, Tools, ToolSpec

Runner: TypeAlias = Callable[[Run], Awaitable[ToolOutput]]


@dataclass(frozen=True, slots=True)
class Function:
    """A tool that keeps nothing open."""

    spec: ToolSpec
    run: Runner


class Functions:
    """Tools and their toolbox at once: there is nothing to open."""

    def __init__(self, *functions: Function) -> None:
        self._runners = {function.spec.name: function.run for function in functions}
        self.specs: Mapping[str, ToolSpec] = {f.spec.name: f.spec for f in functions}
        assert len(self.specs) == len(functions), "two tools of one name"
        self.names = frozenset(self.specs)
        self.place: str | None = None

    @asynccontextmanager
    async def open(
        self,
        context: ToolContext,  # noqa: ARG002 - the port's
    ) -> AsyncGenerator[Toolbox]:
        yield self

    async def sections(self) -> Sequence[str]:
        return ()

    async def run(self, run: Run) -> ToolOutput:
        return await self._runners[run.call.tool](run)

    async def stop(self, call: OpenCall) -> None:
        """Nothing of a function is left once its cancellation has passed."""


class Combined:
    """The tools of several; of two with one name the first one counts."""

    def __init__(self, *tools: Tools) -> None:
        self._tools = tools

    @property
    def names(self) -> frozenset[str]:
        return frozenset[str]().union(*(tools.names for tools in self._tools))

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        async with AsyncExitStack() as stack:
            boxes = [
                (tools.names, await stack.enter_async_context(tools.open(context)))
                for tools in self._tools
            ]
            yield CombinedToolbox(boxes)


class CombinedToolbox:
    """`boxes`: with the names that their sources reserve."""

    def __init__(self, boxes: Sequence[tuple[frozenset[str], Toolbox]]) -> None:
        self._boxes = [box for _, box in boxes]
        self._owners: dict[str, Toolbox] = {}
        self.specs: dict[str, ToolSpec] = {}
        for box in self._boxes:
            for name, spec in box.specs.items():
                if name not in self.specs:
                    self.specs[name] = spec
                    self._owners[name] = box
        # A tool that is not offered now may have been offered to the worker that started a call.
        self._stoppers = {name: box for names, box in reversed(boxes) for name in names}
        self._stoppers |= self._owners

    @property
    def place(self) -> str | None:
        return next((box.place for box in self._boxes if box.place is not None), None)

    async def sections(self) -> Sequence[str]:
        return [section for box in self._boxes for section in await box.sections()]

    async def run(self, run: Run) -> ToolOutput:
        return await self._owners[run.call.tool].run(run)

    async def stop(self, call: OpenCall) -> None:
        if call.tool in self._stoppers:
            await self._stoppers[call.tool].stop(call)
