"""Pictures of the page, for docs/pictures and for whoever changes it: light, dark, and a phone.

python -m scripts.ui_pictures FOLDER

Runs a server of its own, with the simulator, on the database server that the tests use.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, expect

from scripts.admin_pictures import administration, furnish
from scripts.looks import LOOKS, Look
from scripts.ui_stage import LEASES, LONG, SLOW, TESTS, Site, a_stage
from tests.support.browser import PATIENCE_MS, Tab, chromium, open_tab
from tests.support.built import page_with_gallery

GALLERY_PX: Final = 2400
"""Of its height: the rest is more of the same."""
TITLES: Final = ("Kelp forests", "Draft of the announcement", "Flaky test in the watcher")


async def chats(site: Site) -> str:
    """A few, of which the one whose id is given has something to show."""
    admin = site.admin
    for title in TITLES:
        await named(site, await admin.new_chat("Hello"), title)
    await named(site, await admin.new_chat("A key that does not hold"), "A key that does not hold")
    shown = await admin.new_chat(LEASES)
    await named(site, shown, LEASES)
    await admin.ask("PATCH", f"chats/{shown}", {"pinned": True})
    await admin.until(shown, "idle")
    return shown


async def named(site: Site, chat_id: str, title: str) -> None:
    await site.admin.ask("PATCH", f"chats/{chat_id}", {"title": title})


async def pictures(browser: Browser, site: Site, look: Look, shown: str) -> None:
    context = await look.context(browser)
    tab = await open_tab(context, site)
    await tab.go()
    await tab.page.get_by_label("E-mail").wait_for()
    await look.take(tab, "sign-in")
    await tab.enter()
    await look.take(tab, "new-chat")
    await a_chat(tab, look, shown)
    await a_turn(tab, look)
    await around(tab, look)
    await tab.go("/dev/gallery")
    await tab.page.get_by_role("heading", name="Gallery").wait_for()
    await tab.page.set_viewport_size({"width": look.size["width"], "height": GALLERY_PX})
    await look.take(tab, "gallery")
    await context.close()


async def a_chat(tab: Tab, look: Look, shown: str) -> None:
    page = tab.page
    await tab.go(f"/chats/{shown}")
    await expect(page.get_by_role("log")).to_contain_text("nothing worse", timeout=PATIENCE_MS)
    await look.take(tab, "chat")
    if look.is_phone:
        await page.get_by_role("button", name="Show chats").click()
        await look.take(tab, "list")
        await page.keyboard.press("Escape")
        return
    await page.keyboard.press("Control+f")
    await page.get_by_role("searchbox", name="Find in this chat").fill("clock")
    await page.keyboard.press("Enter")
    await look.take(tab, "find")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Context").click()
    await look.take(tab, "context")
    await page.keyboard.press("Escape")
    await page.get_by_role("main").get_by_role("button", name="More for").click()
    await page.get_by_role("menuitem", name="Share").click()
    await look.take(tab, "share")
    await page.keyboard.press("Escape")


async def a_turn(tab: Tab, look: Look) -> None:
    """A tool that ran, one that runs, and what waits for its end."""
    page = tab.page
    if look.is_phone:
        await tab.go()
        await tap(tab, TESTS, "Send")
        await page.wait_for_url("**/chats/*")
    else:
        await tab.new_chat(TESTS)
    log = page.get_by_role("log")
    await expect(log).to_contain_text("both orders are safe", timeout=PATIENCE_MS)
    await tab.settled()
    await tap(tab, SLOW, "Send")
    await page.get_by_role("button", name="Stop").wait_for()
    await tap(tab, "Then summarise what you saw", "Queue")
    await tap(tab, LONG, "Queue")
    await asyncio.sleep(4)  # so that it has something to show for it
    await look.take(tab, "running")
    await page.get_by_role("button", name="Stop").click()
    await expect(log).to_contain_text("Stopped.", timeout=PATIENCE_MS)


async def tap(tab: Tab, text: str, button: str) -> None:
    await tab.page.locator("[data-composer]").fill(text)
    await tab.page.get_by_role("button", name=button, exact=True).click()


async def around(tab: Tab, look: Look) -> None:
    await tab.go("/settings")
    await tab.page.get_by_role("heading", name="Settings").wait_for()
    await look.take(tab, "settings")
    await tab.page.keyboard.press("Control+k")
    await tab.page.get_by_role("combobox").wait_for()
    await look.take(tab, "palette")


async def main(folder: Path) -> None:
    async with page_with_gallery(), a_stage() as site, chromium() as browser:
        shown = await chats(site)
        for name, theme, size in LOOKS:
            await pictures(browser, site, Look(name, theme, size, folder), shown)
        # Last: the models that it adds are offered from then on.
        await furnish(site)
        for name, theme, size in LOOKS:
            await administration(browser, site, Look(name, theme, size, folder))


if __name__ == "__main__":
    wanted = Path(sys.argv[1])
    wanted.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(wanted))
