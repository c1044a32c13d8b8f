"""A tab that is older than its server: one reload, by itself, and the draft is kept."""

import asyncio
import re
import shutil
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, Route, expect

from holdfast.api.ui_files import STATIC
from tests.support.browser import PATIENCE_MS, Site, Tab, open_tab

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(22)]

NAMED_BY_CONTENT = re.compile(r"-([\w-]{8})\.(js|css|woff2)$")
TEXTS = {".js", ".css", ".html", ".json"}
DRAFT = "half a sent"
LOADS_LATE_S = 0.3


def next_version(folder: Path) -> None:
    """The page as the next version would have it: other names, by which all of it calls itself."""
    shutil.copytree(STATIC, folder, ignore=shutil.ignore_patterns("*.br", "*.gz"))
    names = [path.name for path in (folder / "assets").iterdir()]
    other = {
        name: NAMED_BY_CONTENT.sub(r"-NEXT\1.\2", name)
        for name in names
        if NAMED_BY_CONTENT.search(name)
    }
    assert len(other) == len(names)
    for path in [*folder.rglob("*")]:
        if path.suffix in TEXTS:
            text = path.read_text()
            for name, is_now in other.items():
                text = text.replace(name, is_now)
            path.write_text(text)
        if path.name in other:
            path.rename(path.with_name(other[path.name]))


class Loads:
    """How often a page was loaded since."""

    def __init__(self, page: Page) -> None:
        self.count = 0
        page.on("load", self._loaded)

    def _loaded(self, _page: Page) -> None:
        self.count += 1


async def upgraded(site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server goes away and comes back as the next version."""
    next_version(folder)
    await site.down()
    monkeypatch.setattr("holdfast.api.app.STATIC", folder)
    await site.up()


async def slow_to_load(page: Page) -> None:
    """Between a reload and the new page there is time in which the old one could say something."""

    async def late(route: Route) -> None:
        if route.request.is_navigation_request():
            # Real time: the old page has this long to say something before it is replaced.
            await asyncio.sleep(LOADS_LATE_S)
        await route.continue_()

    await page.route("**", late)


@pytest.mark.essential
async def test_an_old_tab_is_loaded_anew_once_and_its_draft_is_kept(
    tab: Tab, context: BrowserContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, page = tab.site, tab.page
    chat_id = await tab.new_chat('[[sim: say "Hello."]]')
    await tab.settled()
    other = await open_tab(context, site)
    await other.go("/")
    await expect(other.page.locator("[data-composer]")).to_be_visible()
    await upgraded(site, tmp_path / "next", monkeypatch)

    for each in (page, other.page):
        await slow_to_load(each)
    loads = Loads(page)
    await page.locator("[data-composer]").fill(DRAFT)
    await page.keyboard.press("Control+k")  # a part that comes when it is first asked for
    await page.wait_for_function(
        "() => [...document.scripts].some(script => script.src.includes('NEXT'))"
    )
    assert page.url.endswith(chat_id)
    await expect(page.locator("[data-composer]")).to_have_value(DRAFT)
    await expect(page.get_by_role("log")).to_contain_text("Hello.", timeout=PATIENCE_MS)
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox")).to_be_focused()
    await page.keyboard.press("Escape")
    assert loads.count == 1
    tab.content()

    loads = Loads(other.page)
    await other.page.locator("[data-composer]").fill(DRAFT)
    await other.page.get_by_role("button", name="Ada").click()
    await other.page.get_by_role("menuitem", name="Settings").click()
    await expect(other.page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    assert loads.count == 1
    await other.page.get_by_role("link", name="New chat").click()
    await expect(other.page.locator("[data-composer]")).to_have_value(DRAFT)
    other.content()


async def test_a_part_that_is_really_missing_is_said_and_does_not_load_for_ever(tab: Tab) -> None:
    page = tab.page
    tab.excused = "dynamically imported module"
    await page.route(re.compile(r"/assets/settings-"), lambda route: route.abort())
    loads = Loads(page)
    await page.get_by_role("button", name="Ada").click()
    await page.get_by_role("menuitem", name="Settings").click()
    await expect(page.get_by_role("button", name="Reload the page")).to_be_visible(
        timeout=PATIENCE_MS
    )
    assert loads.count == 1, "once by us, and not once more by the router"
    await expect(page.get_by_role("navigation", name="Chats")).to_be_visible()
    await page.unroute(re.compile(r"/assets/settings-"))
    await page.get_by_role("button", name="Reload the page").click()
    await expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    assert tab.complaints, "the browser said so, too"
