"""A page that stood still, as in a laptop that slept, has caught up within two seconds.

Headless Chromium takes `Page.setWebLifecycleState` and freezes nothing, so the page is stopped by
the debugger, at its next statement: no timer runs, nothing is read, and nothing tells it that it is
back.

The design says a minute. What may differ with time: after 20 s without a word the page replaces its
connection, after 40 s of silence it gives it up, and the server ends one that takes nothing. Past
these limits longer is the same, so it is 45 s here, with a server that waits for no more than 30.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.requirements import requirement
from tests.support.browser import Site, Tab, a_site_of_its_own, open_tab
from tests.support.numbered import NUMBERS, counting, messages_of, numbers_of, whole, words_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHORT_S, LONG_S = 5, 45
CATCH_UP_S = 2.0
IS_SHOWN = "word => document.querySelector(\"[data-key='m2.0']\").innerText.includes(word)"
LONGEST_PAUSE = """() => {
  let last = performance.now();
  window.pauseMs = 0;
  setInterval(() => {
    const now = performance.now();
    window.pauseMs = Math.max(window.pauseMs, now - last);
    last = now;
  }, 20);
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(template: str) -> AsyncGenerator[Site]:
    async with a_site_of_its_own(template, stalled_s=30) as site:
        yield site


async def freeze(context: BrowserContext, tab: Tab) -> Any:
    await tab.page.evaluate(LONGEST_PAUSE)
    cdp: Any = await context.new_cdp_session(tab.page)  # its types are unknown
    await cdp.send("Debugger.enable")
    await cdp.send("Debugger.pause")
    return cdp


async def said_by_now(tab: Tab, chat_id: str) -> str:
    """The last word that the server has told another reader."""
    text = ""
    with suppress(TimeoutError):
        async with asyncio.timeout(1), tab.site.admin.stream(chat_id) as events:
            async for event in events:
                if event.get("event") == "part":
                    text += "".join(delta.get("text", "") for delta in event["data"]["deltas"])
    return text.split()[-2]  # the last may be half a word


async def thaw(cdp: Any, tab: Tab, chat_id: str) -> float:
    """Seconds until it shows what was said by the moment of its return."""
    word = await said_by_now(tab, chat_id)
    began = time.monotonic()
    await cdp.send("Debugger.resume")
    await cdp.send("Debugger.disable")
    await tab.page.wait_for_function(IS_SHOWN, arg=word)  # looks at every frame
    return time.monotonic() - began


@requirement("F07", "L62")
@pytest.mark.ui_item(4)
async def test_a_frozen_page_catches_up_within_two_seconds(
    tab: Tab, context: BrowserContext, site: Site
) -> None:
    chat_id = await tab.new_chat(counting(8))
    other = await open_tab(context, site)
    await other.go(f"/chats/{chat_id}")
    for each in (tab, other):
        await each.watch()
        await expect(each.page.locator("[data-key='m2.0']")).to_contain_text("n003")
    long, short = await freeze(context, tab), await freeze(context, other)
    await asyncio.sleep(SHORT_S)
    took_short_s = await thaw(short, other, chat_id)
    await asyncio.sleep(LONG_S - SHORT_S)
    took_long_s = await thaw(long, tab, chat_id)
    print(f"caught up after {took_short_s:.2f} s and {took_long_s:.2f} s")
    assert max(took_short_s, took_long_s) <= CATCH_UP_S
    for each, stood_s in ((other, SHORT_S), (tab, LONG_S)):
        assert await each.page.evaluate("window.pauseMs") >= stood_s * 1000, "it stood still"
    await site.admin.post(f"chats/{chat_id}/interrupt")
    for each in (tab, other):
        await whole(each, chat_id)
        stored = words_of((await messages_of(site.admin, chat_id))[-1])
        assert await numbers_of(each) == stored
        assert NUMBERS[: len(stored) - 1] == stored[:-1], "the last may be cut"
        seen = await each.seen()
        assert seen.alerts == []
