"""Virtual time for several processes on one loop, any of which can be stopped in its tracks.

Which process a callback belongs to is in its context, so that everything a process has begun stops
with it: timers, wake-ups, answers that arrive. What it was about to do it does when it goes on,
however late that is: a zombie. Order is asyncio's own, and repeats.
"""

import asyncio
import contextvars
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Self, TypeVar

T = TypeVar("T")

_PROCESS: contextvars.ContextVar["Process | None"] = contextvars.ContextVar("process", default=None)
RESOLUTION_S = 1e-9
"""Timers that lie closer together are due at once, as on asyncio's own loop."""


class Process:
    """What belongs together, as an operating system has it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.dead = False
        self.woke_s = -1.0
        self.held: list[Handle] = []
        self.context = contextvars.copy_context()
        self.context.run(_PROCESS.set, self)

    def freeze(self) -> None:
        self.frozen = True

    def wake(self) -> None:
        loop: Any = asyncio.get_running_loop()
        self.frozen = False
        self.woke_s = loop.time()
        held, self.held = self.held, []
        loop.ready.extend(held)


class Handle:
    """Something to be called, as asyncio's handles are; when, is not its own business.

    Of asyncio's own it is the half that a simulation needs: each seed makes thousands.
    """

    __slots__ = ("args", "callback", "context", "is_cancelled")

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], context: contextvars.Context
    ) -> None:
        self.callback = callback
        self.args = args
        self.context = context
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True
        self.args = ()  # what it would have been told may be large, or know this handle


class _Task(asyncio.Task[Any]):
    """A task whose place in a set does not depend on where in memory it lies."""

    _numbers = itertools.count()
    number = 0

    def __new__(cls, *_args: Any, **_more: Any) -> Self:
        task: Any = super().__new__(cls)
        task.number = next(cls._numbers)
        return task

    def __hash__(self) -> int:  # pyright: ignore[reportImplicitOverride]
        return self.number

    @classmethod
    def restart(cls) -> None:
        cls._numbers = itertools.count()


def _task(loop: asyncio.AbstractEventLoop, coro: Any, **more: Any) -> Any:
    return _Task(coro, loop=loop, **more)


class SimulatedLoop(asyncio.BaseEventLoop):
    """Asks the operating system nothing: nothing of a simulation comes from there.

    What is ready is called in the order in which it became so. When nothing is, the clock jumps to
    the next timer; of two for one moment the one that was set first is first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.ready: deque[Handle] = deque()
        self._timers: list[tuple[float, int, Handle]] = []
        self._timers_set = itertools.count()
        _Task.restart()
        self.set_task_factory(_task)
        # Asked for every future that is made, from C: neither answer needs a frame of Python.
        itself: Any = self
        itself.get_debug = bool
        itself.create_future = partial(asyncio.Future, loop=self)

    def time(self) -> float:  # pyright: ignore[reportImplicitOverride]
        return self.now_s

    def call_soon(  # pyright: ignore[reportImplicitOverride, reportIncompatibleMethodOverride]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> Handle:
        handle = Handle(callback, args, contextvars.copy_context() if context is None else context)
        self.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # pyright: ignore[reportAssignmentType]
    """There is one thread. (Generators that are left behind are closed this way.)"""

    def call_at(  # pyright: ignore[reportImplicitOverride, reportIncompatibleMethodOverride]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> Handle:
        handle = Handle(callback, args, contextvars.copy_context() if context is None else context)
        heapq.heappush(self._timers, (when, next(self._timers_set), handle))
        return handle

    def call_later(  # pyright: ignore[reportImplicitOverride, reportIncompatibleMethodOverride]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> Handle:
        handle = Handle(callback, args, contextvars.copy_context() if context is None else context)
        when = self.now_s + delay
        heapq.heappush(self._timers, (when, next(self._timers_set), handle))
        return handle

    def _run_once(self) -> None:
        """All there is to do, until somebody stops the loop."""
        itself: Any = self
        ready, timers = self.ready, self._timers
        while not itself._stopping:
            if not ready:
                self._jump()
            due_s = self.now_s + RESOLUTION_S
            while timers and timers[0][0] < due_s:
                ready.append(heapq.heappop(timers)[2])
            for _ in range(len(ready)):
                handle = ready.popleft()
                if handle.is_cancelled:
                    continue
                context = handle.context
                process = context.get(_PROCESS)
                if process is not None and process.frozen:
                    process.held.append(handle)
                    continue
                try:
                    context.run(handle.callback, *handle.args)
                except Exception as error:  # noqa: BLE001 - as asyncio does: the loop goes on
                    said = f"exception in callback {handle.callback}"
                    self.call_exception_handler({"message": said, "exception": error})

    def _jump(self) -> None:
        """To the next timer that anybody still waits for."""
        timers = self._timers
        while timers and timers[0][2].is_cancelled:
            heapq.heappop(timers)
        assert timers, "everybody waits, and nothing will ever happen"
        self.now_s = max(self.now_s, timers[0][0])


def simulate(story: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(story)
