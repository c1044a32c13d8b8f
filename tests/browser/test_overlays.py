"""Keys that are pressed right behind a shortcut go into what the shortcut opens."""

from typing import Any

import pytest
from playwright.async_api import BrowserContext, Locator, Page, expect

from tests.support.browser import Tab, open_tab

pytestmark = pytest.mark.asyncio(loop_scope="session")

WORDS = "settings and theme"
LATENCY_MS = 500
KEY_MS = 10


async def slow(page: Page) -> None:
    """Half a second for each answer, and nothing in the cache."""
    session: Any = await page.context.new_cdp_session(page)  # its types are unknown
    await session.send("Network.enable")
    await session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    limits = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    await session.send("Network.emulateNetworkConditions", {**limits, "latency": LATENCY_MS})


def palette(page: Page) -> Locator:
    return page.get_by_role("dialog").get_by_role("combobox")


def find(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Find in this chat")


FIELDS = {"Control+k": palette, "Control+f": find}


@pytest.mark.parametrize("shortcut", FIELDS)
async def test_no_key_behind_a_shortcut_is_lost_or_goes_elsewhere(
    tab: Tab, context: BrowserContext, shortcut: str
) -> None:
    chat_id = await tab.new_chat('[[sim: say "Hello."]]')
    await tab.settled()
    other = await open_tab(context, tab.site)
    page = other.page
    await slow(page)
    await other.go(f"/chats/{chat_id}")
    composer = page.locator("[data-composer]")
    await expect(composer).to_be_focused()
    await page.keyboard.press(shortcut)
    await page.keyboard.type(WORDS, delay=KEY_MS)
    await expect(FIELDS[shortcut](page)).to_have_value(WORDS)
    await expect(composer).to_have_value("")
