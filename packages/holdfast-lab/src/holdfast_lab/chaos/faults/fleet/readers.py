"""Readers of a chat over a failover that lost commits: what they show must be what is stored.

One stays connected; others leave with their cursor and come back when the versions have been
counted again. A reader of lost commits is told to begin anew; a reader of what is stored is not.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from holdfast_client.view import EMPTY, WireEvent, WireView, reduce
from holdfast_lab.chaos.harness.client import Client

LOOKS_S: Final = 0.05
AWAY_S: Final = 0.2


@dataclass
class Reader:
    client: Client
    chat_id: str
    view: WireView = EMPTY
    begun_anew: int = 0
    """How often it was told to, after its first snapshot."""

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator["Reader"]:
        """From where it was; comes back if the stream ends."""
        following = asyncio.create_task(self._follow())
        try:
            yield self
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def until_shown(self, text: str, within_s: float) -> bool:
        """Whether the last message of a person comes to have this text, and a reply."""
        return await self._until(lambda: _last(self.view.messages, "user") == text, within_s)

    async def until_same(self, stored: Sequence[Any], within_s: float) -> bool:
        """Whether the end of what it shows comes to be the end of what is stored."""
        return await self._until(lambda: _end(self.view.messages) == _end(stored), within_s)

    def shows(self, text: str) -> bool:
        return text in str(self.view.messages)

    async def _until(self, true: Callable[[], bool], within_s: float) -> bool:
        ends_s = time.monotonic() + within_s
        while not true():
            if time.monotonic() > ends_s:
                return False
            await asyncio.sleep(LOOKS_S)
        return True

    async def _follow(self) -> None:
        while True:
            # Refused or cut while the database is away.
            with suppress(aiohttp.ClientError, AssertionError, TimeoutError):
                async with self.client.stream(self.chat_id, self.view.cursor) as events:
                    async for event in events:
                        self._take(event)
            await asyncio.sleep(AWAY_S)

    def _take(self, event: dict[str, Any]) -> None:
        if event["type"] == "history.reset" and event["data"]["from_seq"] == 1:
            self.begun_anew += self.view.cursor is not None
        self.view = reduce(self.view, WireEvent.from_json(event))


def _last(messages: Sequence[Any], role: str) -> str | None:
    said = [message for message in messages if message["role"] == role]
    return said[-1]["parts"][0]["text"] if said and messages[-1]["role"] != role else None


def _end(messages: Sequence[Any]) -> list[tuple[int, list[str]]]:
    return [(each["seq"], [part.get("text") for part in each["parts"]]) for each in messages[-2:]]
