"""Isolation of tool sources: a source that cannot be opened costs a turn its tools, not the turn.

The model is told which tools are missing, in a section of its system prompt. That section holds no
text of the exception, which may name hosts or secrets: the text is in the log.

Each source has a host: the task that enters it, keeps it open and leaves it.

- A cancel scope of a source (anyio) is entered and left by one task, and one that is cancelled ends
  the host, not the turn.
- Sources are opened side by side and closed side by side: those that hang cost one bound together.
- A source that swallows its cancellation holds its host and nothing else. A host that does not end
  is left behind, logged and counted.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from holdfast.domain.chat import OpenCall
from holdfast.ports.tools import Run, Toolbox, ToolContext, ToolOutput, Tools, ToolSpec
from holdfast.tools.toolbox import CombinedToolbox

OPEN_S: Final = 5.0
"""How long sources may take to open, and to close. A turn waits this long for all that hang."""
SECTIONS_S: Final = 30.0
"""How long the sections of a source may take. The workspace has a shorter bound of its own."""
NOT_AVAILABLE: Final = (
    "These tools are not available now: {tools}, because {why}. Do not call them. If the task needs"
    " them, tell the user."
)
TOO_SLOW: Final = "{source} did not open within {timeout_s:g} s"
FAILED: Final = "{source} failed to open ({error})"
_LOG: Final = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(slots=True)
class SourceCounters:
    left_out: int = 0
    """Sources that a turn had to do without."""
    left_behind: int = 0
    """Tasks of sources that did not end after their cancellation."""


class SourceNotOpen(Exception):
    """A call cannot be stopped: the source of its tool did not open in this turn."""


class Isolated:
    """Sources that always open: without the tools of those that fail or hang."""

    def __init__(
        self, sources: Mapping[str, Tools], counters: SourceCounters, *, timeout_s: float = OPEN_S
    ) -> None:
        assert sources, "without sources there is nothing to isolate"
        self._sources = dict(sources)
        self._counters = counters
        self._timeout_s = timeout_s
        self._tasks = SourceTasks(counters, timeout_s)

    @property
    def names(self) -> frozenset[str]:
        return frozenset[str]().union(*(source.names for source in self._sources.values()))

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        hosts = [
            _Host(name, source, context, self._tasks) for name, source in self._sources.items()
        ]
        try:
            await asyncio.wait([host.ready for host in hosts], timeout=self._timeout_s)
        except asyncio.CancelledError:  # an interrupt, or the end of the worker: it waits for none
            for host in hosts:
                host.leave()
            raise
        try:
            yield CombinedToolbox([(host.source.names, self._toolbox(host)) for host in hosts])
        finally:
            await self._close(hosts)

    def _toolbox(self, host: "_Host") -> Toolbox:
        if host.toolbox is not None:
            return _Guarded(host.toolbox, host, self._tasks)
        self._counters.left_out += 1
        why = (TOO_SLOW if host.error is None else FAILED).format(
            source=host.name, timeout_s=self._timeout_s, error=type(host.error).__name__
        )
        _LOG.warning(
            "tools: source left out of a turn of chat %s: %s",
            host.context.chat.chat_id,
            why,
            exc_info=host.error or TimeoutError(),
        )
        host.leave()
        tools = ", ".join(sorted(host.source.names)) or host.name
        return _LeftOut(NOT_AVAILABLE.format(tools=tools, why=why))

    async def _close(self, hosts: "Sequence[_Host]") -> None:
        """In bounded time. What goes wrong is logged and ends here: it must not take the place of a
        result, or of a cancellation."""
        closing = [host.task for host in hosts if host.leave()]
        if closing:
            await asyncio.wait(closing, timeout=self._timeout_s)


class SourceTasks:
    """Tasks that run code of sources. They belong to no group, because a group waits for its tasks:
    one that does not end holds nothing but itself."""

    def __init__(self, counters: SourceCounters, timeout_s: float) -> None:
        self._counters = counters
        self._timeout_s = timeout_s
        self._running: set[asyncio.Task[Any]] = set()
        """The event loop itself keeps no task alive."""

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work, name=f"tools {name}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def later(self, task: asyncio.Task[Any], act: Callable[[], None]) -> None:
        """Act after the bound, unless the task has ended by then."""
        timer = asyncio.get_running_loop().call_later(self._timeout_s, act)
        task.add_done_callback(lambda _: timer.cancel())

    def cancel(self, task: asyncio.Task[Any]) -> None:
        """Without waiting for it."""
        task.cancel()
        self.later(task, lambda: self._left_behind(task))

    def _left_behind(self, task: asyncio.Task[Any]) -> None:
        self._counters.left_behind += 1
        _LOG.error("tools: task left behind, it ignores its cancellation: %s", task.get_name())


class _Host:
    """One source for one turn. `ready` is done when the source is open, or will never be."""

    def __init__(self, name: str, source: Tools, context: ToolContext, tasks: SourceTasks) -> None:
        self.name = name
        self.source = source
        self.context = context
        self.toolbox: Toolbox | None = None
        self.specs: Mapping[str, ToolSpec] = {}
        self.error: BaseException | None = None
        """Why it did not open."""
        self.ready = asyncio.get_running_loop().create_future()
        self._leaving = asyncio.Event()
        self._cancelled = False
        self._tasks = tasks
        self.task = tasks.start(self._run(), f"source {name}")

    def leave(self) -> bool:
        """Let it close the source; one that is not open yet is cancelled. Whether it closes."""
        if self._cancelled or self.task.done():
            return False
        if self.toolbox is None:
            self._cancel()
            return False
        self._leaving.set()
        self._tasks.later(self.task, self._cut_off)
        return True

    async def _run(self) -> None:
        try:
            async with self.source.open(self.context) as toolbox:
                self.specs = dict(toolbox.specs)  # read once: a source may answer otherwise later
                self.toolbox = toolbox
                self.ready.set_result(None)
                await self._leaving.wait()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - of foreign code
            if self.toolbox is None:
                self.error = error
            elif not self._cancelled:
                ended = "did not close" if self._leaving.is_set() else "ended before its turn"
                self.warn(f"source {ended}", error)
        finally:
            if not self.ready.done():
                self.ready.set_result(None)

    def _cut_off(self) -> None:
        self.warn("source did not close", TimeoutError())
        self._cancel()

    def _cancel(self) -> None:
        self._cancelled = True
        self._leaving.set()  # for a source that swallows its cancellation, and opens after all
        self._tasks.cancel(self.task)

    def warn(self, what: str, error: BaseException) -> None:
        chat_id = self.context.chat.chat_id
        _LOG.warning("tools: %s: %s, chat %s", what, self.name, chat_id, exc_info=error)


class _Guarded:
    """The toolbox of a source: if its sections fail or hang, the turn does without them."""

    def __init__(self, inside: Toolbox, host: _Host, tasks: SourceTasks) -> None:
        self._inside = inside
        self._host = host
        self._tasks = tasks
        self.specs = host.specs

    @property
    def place(self) -> str | None:
        return self._inside.place

    async def sections(self) -> Sequence[str]:
        task = self._tasks.start(self._read(), f"sections of {self._host.name}")
        try:
            await asyncio.wait([task], timeout=SECTIONS_S)
        finally:
            if not task.done():
                self._tasks.cancel(task)
        read = task.result() if task.done() else TimeoutError()
        if isinstance(read, BaseException):
            self._host.warn("sections left out", read)
            return ()
        return read

    async def _read(self) -> Sequence[str] | BaseException:
        try:
            return await self._inside.sections()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - of foreign code
            return error

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
