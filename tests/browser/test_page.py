"""The way of a person through the page: in, the list, the settings, the palette."""

import pytest
from playwright.async_api import BrowserContext, Locator, expect

from tests.support.browser import Site, Tab, open_tab
from tests.support.identity import PASSWORD
from tests.support.web import ADMIN_EMAIL

pytestmark = pytest.mark.asyncio(loop_scope="session")


def in_list(tab: Tab, title: str) -> Locator:
    return tab.page.get_by_role("navigation", name="Chats").get_by_role("link", name=title)


@pytest.mark.essential
async def test_who_signs_in_is_where_they_wanted_to_go(context: BrowserContext, site: Site) -> None:
    tab = await open_tab(context, site)
    await tab.go("/settings")
    page = tab.page
    await page.get_by_label("E-mail").fill(ADMIN_EMAIL)
    await page.get_by_label("Password").fill("not the password")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_have_text("E-mail or password is wrong.")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    await expect(page.get_by_role("cell", name="sim")).to_be_visible()
    await expect(page.get_by_role("cell", name=ADMIN_EMAIL)).to_be_visible()

    await page.get_by_label("Key name").fill("a program")
    await page.get_by_role("button", name="Create key").click()
    secret = await page.get_by_role("status").locator("code").inner_text()
    assert (await site.admin.as_(secret).get("me")).json["user"]["email"] == ADMIN_EMAIL

    await page.get_by_role("button", name="Ada").click()
    await page.get_by_role("menuitem", name="Sign out").click()
    await expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    tab.content()


@pytest.mark.essential
async def test_code_is_coloured_in_a_thread_of_its_own(tab: Tab) -> None:
    """Also a second language, whose grammar that thread fetches by itself."""
    for language, code in (("python", "print(1)  # one"), ("rust", "fn main() {}")):
        await tab.new_chat(f'[[sim: say "```{language}\\n{code}\\n```"]]')
        block = tab.page.get_by_role("log").get_by_role("figure", name=f"Code, {language}").last
        await expect(block.locator(".line > span[style]")).not_to_have_count(0)
        await expect(block.locator("pre")).to_have_text(code)
    assert [worker.url for worker in tab.page.workers if "highlight" in worker.url]
    tab.content()


@pytest.mark.essential
async def test_the_list_is_found_renamed_pinned_and_archived_in(tab: Tab) -> None:
    await tab.new_chat('[[sim: say "done"]]')
    await tab.settled()
    page = tab.page
    await page.get_by_title("Rename this chat").click()
    field = page.get_by_role("main").get_by_label("Rename this chat")
    await field.fill("Kelp forests")
    await field.press("Enter")
    await expect(in_list(tab, "Kelp forests")).to_be_visible()
    await page.get_by_label("Search chat titles").fill("kelp")
    await expect(in_list(tab, "Kelp forests")).to_be_visible()
    await page.get_by_label("Search chat titles").fill("no such title")
    await expect(page.get_by_text("No chat title contains “no such title”")).to_be_visible()
    await page.get_by_role("button", name="Clear search").first.click()

    await page.get_by_role("main").get_by_role("button", name="More for Kelp forests").click()
    await page.get_by_role("menuitem", name="Pin").click()
    await expect(page.get_by_role("heading", name="Pinned")).to_be_visible()
    await page.get_by_role("main").get_by_role("button", name="More for Kelp forests").click()
    await page.get_by_role("menuitem", name="Archive").click()
    await expect(in_list(tab, "Kelp forests")).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await expect(in_list(tab, "Kelp forests")).to_be_visible()
    tab.content()


async def test_everything_has_a_name_in_the_palette(tab: Tab) -> None:
    await tab.page.keyboard.press("Control+k")
    await tab.page.get_by_role("combobox").fill("dark")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.locator("html")).to_have_attribute("data-theme", "dark")
    await tab.page.reload()
    await expect(tab.page.locator("html")).to_have_attribute("data-theme", "dark")
    tab.content()


async def test_a_chat_that_is_not_there_says_so(tab: Tab) -> None:
    await tab.go("/chats/01890000-0000-7000-8000-000000000000")
    await expect(tab.page.get_by_text("Chat not found")).to_be_visible()
    tab.content()
