"""Answers made of numbered words, so that whatever is lost, doubled or swapped can be seen."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import expect

from tests.support.browser import PATIENCE_MS, Tab
from tests.support.web import Client

COUNT = 500


def numbers(letter: str, count: int) -> list[str]:
    return [f"{letter}{number:03}" for number in range(count)]


NUMBERS = numbers("n", COUNT)


def counting(rate: float, count: int = COUNT) -> str:
    """A prompt whose answer is so many numbered words, so many a second."""
    return f'[[sim: say "{" ".join(NUMBERS[:count])}" | rate={rate}]]'


async def numbers_of(tab: Tab) -> list[str]:
    """As the answer shows them: message 2, part 0."""
    return (await tab.page.locator("[data-key='m2.0']").inner_text()).split()


async def whole(tab: Tab, chat_id: str) -> None:
    """Until the turn is over on the server, and the page shows its last message and its end."""
    chat = await tab.site.admin.until(chat_id, "idle", "failed", within_s=PATIENCE_MS / 1000)
    last = tab.page.locator(f"[data-key^='m{chat['last_seq']}.']").first
    await expect(last).to_be_visible(timeout=PATIENCE_MS)
    await tab.settled()


async def messages_of(client: Client, chat_id: str) -> list[dict[str, Any]]:
    return (await client.get(f"chats/{chat_id}/messages")).json["data"]


def words_of(message: dict[str, Any]) -> list[str]:
    return " ".join(str(part.get("text", "")) for part in message["parts"]).split()


async def assert_as_stored(tab: Tab, chat_id: str) -> None:
    """Every part of every reply is shown as it is stored, opened where it is folded."""
    messages = await messages_of(tab.site.admin, chat_id)
    results = {
        part["call_id"]: str(part["output"])
        for message in messages
        for part in message["parts"]
        if part["type"] == "tool_result"
    }
    for message in messages:
        if message["role"] != "assistant":
            continue
        for index, part in enumerate(message["parts"]):
            item = tab.page.locator(f"[data-key='m{message['seq']}.{index}']")
            match part["type"]:
                case "text":
                    assert (await item.inner_text()).split() == part["text"].split()
                case "reasoning":
                    await item.get_by_role("button").click()
                    shown = await item.locator(".markdown").inner_text()
                    assert shown.split() == part["text"].split()
                case "tool_call":
                    await item.get_by_role("button").first.click()
                    shown = await item.locator("pre").last.inner_text()
                    assert shown.split() == results[part["call_id"]].split()
                case _:
                    pass


@dataclass
class Model:
    """What the model says in a chat right now, as the server tells it to another reader."""

    words: dict[str, int] = field(default_factory=dict[str, int])
    """How many so far, by kind: reasoning, text, tool_output."""
    kind: str = ""
    is_over: bool = False
    _told: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, event: dict[str, Any]) -> None:
        if event["type"] == "preview.delta":
            for delta in event["data"]["deltas"]:
                if delta["type"] in ("reasoning", "text", "tool_output"):
                    self.kind = delta["type"]
                    said = len(delta["text"].split())
                    self.words[self.kind] = self.words.get(self.kind, 0) + said
        if event["type"] == "chat.state":
            self.is_over = event["data"]["status"] not in ("running", "interrupting")
        self._told.set()

    async def past(self, kind: str, word: int) -> bool:
        """Once so many words of that kind are there; False: they came, and another kind since."""
        async with asyncio.timeout(60):
            while self.words.get(kind, 0) < word and not self.is_over:
                self._told.clear()
                await self._told.wait()
        return self.kind == kind and not self.is_over


@asynccontextmanager
async def heard(client: Client, chat_id: str) -> AsyncGenerator[Model]:
    model = Model()

    async def listen() -> None:
        async with client.stream(chat_id) as events:
            async for event in events:
                model.hear(event)

    listening = asyncio.create_task(listen())
    try:
        yield model
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening
