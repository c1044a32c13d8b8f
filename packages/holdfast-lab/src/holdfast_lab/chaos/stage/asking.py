"""Questions that are put again while the database is away, as a client does it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar

from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import Message
from holdfast.ports.history import History

ANSWER = TypeVar("ANSWER")
PATIENCE_S: Final = 60.0
PAGE: Final = 200


async def surely(ask: Callable[[], Awaitable[ANSWER]]) -> ANSWER:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(Unavailable):
                return await ask()
            await asyncio.sleep(0.1)


async def whole(history: History, chat_id: ChatId) -> list[Message]:
    """From the first message on, however many there are."""
    found: list[Message] = []
    while True:
        before = found[0].seq if found else None
        page = await surely(lambda: history.page(chat_id, limit=PAGE, before=before))  # noqa: B023
        found = [*page.messages, *found]
        if page.before is None:
            return found
