"""Isolation of tool sources: a source that cannot be opened costs a turn its tools, not the turn.

The model is told which tools are missing, in a section of its system prompt. That section holds no
text of the exception, which may name hosts or secrets: the text is in the log.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from holdfast.domain.chat import OpenCall
from holdfast.ports.tools import Run, Toolbox, ToolContext, ToolOutput, Tools, ToolSpec

OPEN_S: Final = 5.0
"""How long a source may take to open. A turn waits this long for each source that hangs."""
SECTIONS_S: Final = 30.0
"""How long the sections of a source may take. The workspace has a shorter bound of its own."""
NOT_AVAILABLE: Final = (
    "These tools are not available now: {tools}, because {why}. Do not call them. If the task needs"
    " them, tell the user."
)
TOO_SLOW: Final = "{source} did not open within {timeout_s:g} s"
FAILED: Final = "{source} failed to open ({error})"
_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class SourceCounters:
    left_out: int = 0
    """Sources that a turn had to do without."""


class SourceNotOpen(Exception):
    """A call cannot be stopped: the source of its tool did not open in this turn."""


class Isolated:
    """A source that always opens: without tools, if the source inside fails or hangs."""

    def __init__(
        self, name: str, source: Tools, counters: SourceCounters, *, timeout_s: float = OPEN_S
    ) -> None:
        self._name = name
        self._source = source
        self._counters = counters
        self._timeout_s = timeout_s

    @property
    def names(self) -> frozenset[str]:
        return self._source.names

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        stack = AsyncExitStack()
        toolbox = await self._opened(stack, context)
        try:
            yield toolbox
        finally:
            await self._close(stack, context)

    async def _opened(self, stack: AsyncExitStack, context: ToolContext) -> Toolbox:
        # In this task: it also closes the source, as the cancel scopes of some libraries demand.
        cancels = _cancels()
        deadline = asyncio.timeout(self._timeout_s)
        try:
            async with deadline:
                inside = await stack.enter_async_context(self._source.open(context))
            return _Guarded(inside, self._name, context)
        except (Exception, asyncio.CancelledError) as error:
            if _cancels() > cancels:  # an interrupt, or the end of the worker
                raise asyncio.CancelledError from error
            why = TOO_SLOW if deadline.expired() else FAILED
            return self._left_out(context, error, why)  # raised by the source itself

    async def _close(self, stack: AsyncExitStack, context: ToolContext) -> None:
        """Close the source in bounded time. Its error is logged and ends here: it must not take
        the place of a result, or of a cancellation."""
        cancels = _cancels()
        try:
            async with asyncio.timeout(self._timeout_s):
                await stack.aclose()
        except (Exception, asyncio.CancelledError) as error:
            if _cancels() > cancels:
                raise asyncio.CancelledError from error
            _warn("source did not close", self._name, context, error)

    def _left_out(self, context: ToolContext, error: BaseException, why: str) -> Toolbox:
        self._counters.left_out += 1
        reason = why.format(
            source=self._name, timeout_s=self._timeout_s, error=type(error).__name__
        )
        _LOG.warning(
            "tools: source left out of a turn of chat %s: %s",
            context.chat.chat_id,
            reason,
            exc_info=error,
        )
        tools = ", ".join(sorted(self.names)) or self._name
        return _LeftOut(NOT_AVAILABLE.format(tools=tools, why=reason))


class _Guarded:
    """The toolbox of a source: if its sections fail or hang, the turn does without them."""

    def __init__(self, inside: Toolbox, source: str, context: ToolContext) -> None:
        self._inside = inside
        self._source = source
        self._context = context

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        return self._inside.specs

    @property
    def place(self) -> str | None:
        return self._inside.place

    async def sections(self) -> Sequence[str]:
        cancels = _cancels()
        try:
            async with asyncio.timeout(SECTIONS_S):
                return await self._inside.sections()
        except (Exception, asyncio.CancelledError) as error:
            if _cancels() > cancels:
                raise asyncio.CancelledError from error
            _warn("sections left out", self._source, self._context, error)
            return ()

    async def run(self, run: Run) -> ToolOutput:
        return await self._inside.run(run)

    async def stop(self, call: OpenCall) -> None:
        await self._inside.stop(call)


class _LeftOut:
    """The toolbox of a source that did not open."""

    def __init__(self, notice: str) -> None:
        self._notice = notice
        self.specs: Mapping[str, ToolSpec] = {}
        self.place: str | None = None

    async def sections(self) -> Sequence[str]:
        return (self._notice,)

    async def run(self, run: Run) -> ToolOutput:  # noqa: ARG002 - the port's
        return ToolOutput(self._notice, failed=True)

    async def stop(self, call: OpenCall) -> None:
        """An earlier turn, or a worker that died, may have started the call: only the source could
        tell (X2)."""
        raise SourceNotOpen(call.tool)


def _cancels() -> int:
    """How often the current task was asked to end, and has not answered yet."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


def _warn(what: str, source: str, context: ToolContext, error: BaseException) -> None:
    _LOG.warning("tools: %s: %s, chat %s", what, source, context.chat.chat_id, exc_info=error)
