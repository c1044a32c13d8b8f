"""Pictures of the page, for docs/pictures and for whoever changes it: light, dark, and a phone.

python -m scripts.ui_pictures FOLDER

Runs a server of its own, with the simulator, on the database server that the tests use.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

from playwright.async_api import Browser

from holdfast.simulator.server import Config, running
from tests.support.browser import Site, Tab, a_site, chromium, open_tab
from tests.support.database import migrated_template, temporary_database
from tests.support.replica import Replicas

LOOKS: Final = {
    "light": ("light", 1280, 800),
    "dark": ("dark", 1280, 800),
    "phone": ("light", 390, 844),
}
MARKDOWN: Final = (
    "## Plan\\n\\nThe lease is **time-limited**; see `worker/tenure.py`.\\n\\n"
    "1. Read the *clock* of the database\\n2. Compare and set\\n\\n"
    "```python\\nasync def renew(lease: Lease) -> Lease:\\n"
    "    # the race: somebody may have rescued it\\n"
    "    return await store.extend(lease)\\n```\\n\\n"
    "| step | cost |\\n| --- | --- |\\n| read | 1 ms |\\n| write | 3 ms |\\n"
)
TITLES: Final = (
    "Why the lease is renewed by the database's clock",
    "Kelp forests",
    "Draft of the release notes",
    "Flaky test in the watcher",
)


async def chats(site: Site) -> str:
    """A few, of which the first has something to show."""
    admin = site.admin
    shown = await admin.new_chat(f'[[sim: think "Let me see." | say "{MARKDOWN}"]]')
    await admin.until(shown, "idle")
    for title in TITLES[1:]:
        chat_id = await admin.new_chat('[[sim: say "Done."]]')
        await admin.ask("PUT", f"chats/{chat_id}/title", {"title": title})
    failed = await admin.new_chat("[[sim: fault=401]]")
    await admin.ask("PUT", f"chats/{failed}/title", {"title": "A key that does not hold"})
    await admin.ask("PUT", f"chats/{shown}/title", {"title": TITLES[0]})
    await admin.ask("PUT", f"chats/{shown}/pinned", {"pinned": True})
    return shown


async def pictures(browser: Browser, site: Site, folder: Path) -> None:
    shown = await chats(site)
    for look, (theme, width, height) in LOOKS.items():
        context = await browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            has_touch=look == "phone",
        )
        tab = await open_tab(context, site)
        await tab.go()
        await take(tab, folder / f"sign-in-{look}.png")
        await tab.enter()
        await take(tab, folder / f"new-chat-{look}.png")
        await tab.go(f"/chats/{shown}")
        await tab.page.get_by_role("log").wait_for()
        await take(tab, folder / f"chat-{look}.png")
        await tab.say("[[sim: words=300 | rate=40]]")
        await tab.page.get_by_role("button", name="Stop").wait_for()
        await tab.say("And then the tests, please.")
        await asyncio.sleep(2)
        await take(tab, folder / f"running-{look}.png")
        await tab.page.get_by_role("button", name="Stop").click()
        await tab.go("/settings")
        await tab.page.get_by_role("heading", name="Settings").wait_for()
        await take(tab, folder / f"settings-{look}.png")
        await tab.page.keyboard.press("Control+k")
        await take(tab, folder / f"palette-{look}.png")
        if look == "phone":
            await tab.go("/")
            await tab.page.get_by_role("button", name="Show chats").click()
            await take(tab, folder / "list-phone.png")
        await context.close()


async def take(tab: Tab, path: Path) -> None:
    await asyncio.sleep(0.6)  # fonts, and what is told a moment later
    await tab.page.screenshot(path=path)


async def main(folder: Path) -> None:
    async with (
        migrated_template() as template,
        temporary_database(template) as url,
        running(Config(hang_max_s=20)) as simulator,
        a_site(Replicas(url, simulator)) as site,
        chromium() as browser,
    ):
        await pictures(browser, site, folder)


if __name__ == "__main__":
    wanted = Path(sys.argv[1])
    wanted.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(wanted))
