"""Tasks that stand beside a block."""

import asyncio
from types import TracebackType


class Crew(asyncio.TaskGroup):
    """A task group whose block is not its business: an error of it passes as it is, instead of
    inside a group of one. Only a cancellation is, for it may be the group's own."""

    async def __aexit__(  # pyright: ignore[reportImplicitOverride] - 3.11
        self,
        et: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if isinstance(exc, asyncio.CancelledError):
            await super().__aexit__(et, exc, tb)
        else:
            await super().__aexit__(None, None, None)
