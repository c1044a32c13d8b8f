"""Random cuts of the network around Send: each message is shown at once, and arrives once."""

import asyncio
import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from playwright.async_api import BrowserContext, Error, Route, expect

from tests.support.browser import AT_REST, PATIENCE_MS, Tab

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FRAMES: Final = """
(() => {
  window.sent = window.sent ?? [];
  addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || !(field instanceof HTMLTextAreaElement)) return;
    const words = field.value.trim();
    if (words === "") return;
    let frames = 0;
    const look = () => {
      frames++;
      const shown = [...document.querySelectorAll("main .markdown, main section li")];
      if (shown.some((each) => each.textContent.includes(words))) sent.push([words, frames]);
      else if (frames < 300) requestAnimationFrame(look);
      else sent.push([words, -1]);
    };
    requestAnimationFrame(look);
  }, true);
})();
"""
"""Counts the frames from Enter to the words on the screen; the key press is drawn in the first."""
POSTS: Final = "**/api/v1/chats/*/messages"


@dataclass
class Cuts:
    """`wrong`: messages that arrived never or twice. `late`: not shown by the next frame."""

    sent: int = 0
    wrong: list[str] = field(default_factory=list[str])
    late: list[str] = field(default_factory=list[str])
    kinds: Counter[str] = field(default_factory=Counter[str])


@dataclass
class Sender:
    tab: Tab
    context: BrowserContext
    chance: random.Random

    async def _offline(self) -> None:
        # Real time: the cut comes at a random moment.
        await asyncio.sleep(self.chance.random() * 0.02)
        await self.context.set_offline(True)
        # Real time: the cut comes at a random moment.
        await asyncio.sleep(self.chance.random() * 0.2)
        await self.context.set_offline(False)

    async def _before(self) -> None:
        """Away before Enter, and back after it."""
        # Real time: the cut comes at a random moment.
        await asyncio.sleep(self.chance.random() * 0.2)
        await self.context.set_offline(False)

    async def _reloaded(self) -> None:
        # Real time: the cut comes at a random moment.
        await asyncio.sleep(self.chance.random() * 0.05)
        await self.tab.page.reload()
        await expect(self.tab.page.locator("[data-composer]")).to_be_visible()

    async def _nothing(self) -> None:
        # Real time: the cut comes at a random moment.
        await asyncio.sleep(self.chance.random() * 0.05)

    async def _lost(self, route: Route) -> None:
        await route.abort("connectionreset")

    async def _answer_lost(self, route: Route) -> None:
        with suppress(Error):  # a connection that the server had closed: the request is lost, too
            await route.fetch()
        await route.abort("connectionreset")

    async def send(self, words: str) -> str:
        page = self.tab.page
        kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "offline after": self._offline,
            "offline before": self._before,
            "reloaded": self._reloaded,
            "request lost": self._nothing,
            "answer lost": self._nothing,
        }
        kind = self.chance.choice(list(kinds))
        times = self.chance.randint(1, 2)
        if kind == "request lost":
            await page.route(POSTS, self._lost, times=times)
        elif kind == "answer lost":
            await page.route(POSTS, self._answer_lost, times=times)
        elif kind == "offline before":
            await self.context.set_offline(True)
        await self.tab.say(words)
        await page.wait_for_function("words => sent.some(([each]) => each === words)", arg=words)
        await kinds[kind]()
        return kind

    async def arrived(self, chat_id: str, count: int) -> list[str]:
        """Texts of people in the chat and its queue, once nothing is on its way."""
        page = self.tab.page
        await page.evaluate("() => dispatchEvent(new Event('online'))")
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while await page.evaluate(UNSENT):  # noqa: ASYNC110 - the browser says nothing
                await asyncio.sleep(0.05)
        admin = self.tab.site.admin
        await admin.until(chat_id, *AT_REST, within_s=PATIENCE_MS / 1000)
        said = (await admin.get(f"chats/{chat_id}/messages?limit=200")).json["data"]
        waiting = (await admin.get(f"chats/{chat_id}/queue")).json["data"]
        texts = [_text(each) for each in said if each["role"] == "user"]
        return texts + [_text(each) for each in waiting]


UNSENT: Final = """
() => new Promise((resolve) => {
  const asked = indexedDB.open("holdfast.outbox/");
  asked.onerror = () => resolve(-1);
  asked.onsuccess = () => {
    const db = asked.result;
    const all = db.transaction("messages").objectStore("messages").count();
    all.onsuccess = () => { db.close(); resolve(all.result); };
    all.onerror = () => { db.close(); resolve(-1); };
  };
})
"""


def _text(message: dict[str, Any]) -> str:
    return "".join(str(part.get("text", "")) for part in message["parts"])


async def cut_sends(
    tab: Tab, context: BrowserContext, seed: int, *, chats: int, messages: int
) -> Cuts:
    """So many messages to each of so many chats, one cut of the network around each."""
    chance = random.Random(seed)
    sender, cuts = Sender(tab, context, chance), Cuts()
    await tab.page.add_init_script(FRAMES)
    await tab.page.evaluate(FRAMES)
    for chat in range(chats):
        chat_id = await tab.new_chat(f'[[sim: say "begun {chat}"]]')
        await tab.settled()
        wanted = [f'[[sim: say "ok"]] words {chat}-{number}' for number in range(messages)]
        for words in wanted:
            cuts.kinds[await sender.send(words)] += 1
            frames: list[tuple[str, int]] = await tab.page.evaluate("() => sent.splice(0)")
            cuts.late += [each for each, count in frames if count != 1]
        arrived = Counter(await sender.arrived(chat_id, messages + 1))
        cuts.sent += messages
        cuts.wrong += [words for words in wanted if arrived[words] != 1]
    return cuts
