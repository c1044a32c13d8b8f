"""Virtual time for several processes on one loop, any of which can be stopped in its tracks.

Which process a callback belongs to is in its context, so that everything a process has begun stops
with it: timers, wake-ups, answers that arrive. What it was about to do it does when it goes on,
however late that is: a zombie. Order is asyncio's own, and repeats.
"""

import asyncio
import contextvars
import heapq
import itertools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

T = TypeVar("T")

_PROCESS: contextvars.ContextVar["Process | None"] = contextvars.ContextVar("process", default=None)
_RUN = asyncio.Handle._run


class Process:
    """What belongs together, as an operating system has it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.dead = False
        self.woke_s = -1.0
        self.held: list[asyncio.Handle] = []
        self.context = contextvars.copy_context()
        self.context.run(_PROCESS.set, self)

    def freeze(self) -> None:
        self.frozen = True

    def wake(self) -> None:
        loop: Any = asyncio.get_running_loop()
        self.frozen = False
        self.woke_s = loop.time()
        held, self.held = self.held, []
        loop._ready.extend(held)


class _Handle(asyncio.Handle):
    __slots__ = ()

    def _run(self) -> None:  # pyright: ignore[reportImplicitOverride]
        _run_or_hold(self)


class _TimerHandle(asyncio.TimerHandle):
    __slots__ = ()

    def _run(self) -> None:  # pyright: ignore[reportImplicitOverride]
        _run_or_hold(self)


def _run_or_hold(handle: Any) -> None:
    process: Process | None = handle._context.get(_PROCESS)
    if process is not None and process.frozen:
        process.held.append(handle)
    else:
        _RUN(handle)


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


class _Jumping(selectors.SelectSelector):
    """Asks the operating system nothing: nothing of a simulation comes from there."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(  # pyright: ignore[reportImplicitOverride]
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "everybody waits, and nothing will ever happen"
        self.now_s += timeout
        return []


class SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)
        _Task.restart()
        self.set_task_factory(_task)

    def time(self) -> float:  # pyright: ignore[reportImplicitOverride]
        return self._jumping.now_s

    def _call_soon(self, callback: Any, args: Any, context: Any) -> asyncio.Handle:
        handle = _Handle(callback, args, self, context)
        itself: Any = self
        itself._ready.append(handle)
        return handle

    def call_at(  # pyright: ignore[reportImplicitOverride]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        handle: Any = _TimerHandle(when, callback, args, self, context)
        itself: Any = self
        heapq.heappush(itself._scheduled, handle)
        handle._scheduled = True
        return handle


def simulate(story: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(story)
