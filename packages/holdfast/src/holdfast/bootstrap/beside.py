"""What goes on beside a server, for as long as the server does."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from holdfast.tasks import Crew


@asynccontextmanager
async def beside(work: Callable[[], Coroutine[Any, Any, None]], name: str) -> AsyncGenerator[None]:
    """A loop that goes on for as long as the block does, whatever it raises."""
    async with Crew() as tasks:
        task = tasks.keep_up(work, name=name)
        try:
            yield
        finally:
            task.cancel()
