"""Virtual time: a loop whose clock jumps to the next timer instead of waiting for it.

    from tests.support.virtual import virtual_runner as virtual_runner

in a module, or in the conftest of a folder, and its async tests and fixtures run in virtual time.
Not for tests with sockets, threads or processes: the clock does not wait for them.
"""

import asyncio
import selectors
from collections.abc import Coroutine, Generator
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest

from tests.support.builders import NOW

T = TypeVar("T")


class _Jumping(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(  # pyright: ignore[reportImplicitOverride]
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everybody waits, and nothing will ever happen"
            self.now_s += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:  # pyright: ignore[reportImplicitOverride]
        return self._jumping.now_s


class LoopClock:
    """The database's clock in a simulation: the loop's."""

    def now(self) -> datetime:
        return NOW + timedelta(seconds=asyncio.get_running_loop().time())


def run_virtually(story: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)


# pytest-asyncio's own name for the runner of a test. Its hook for loop factories would also tear
# down the fixtures of the session, with every change between virtual and real time.
# tests/unit/test_virtual.py fails if the name changes.
@pytest.fixture(name="_function_scoped_runner")
def virtual_runner() -> Generator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        yield runner
