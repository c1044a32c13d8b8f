"""What goes on beside a server, for as long as the server does."""

from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from holdfast.tasks import Crew


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None], name: str) -> AsyncGenerator[None]:
    """Something that goes on for as long as the block does."""
    async with Crew() as tasks:
        task = tasks.create_task(work, name=name)
        try:
            yield
        finally:
            task.cancel()
