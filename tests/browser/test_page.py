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
    await tab.go("/settings/api-keys")
    page = tab.page
    await page.get_by_label("E-mail").fill(ADMIN_EMAIL)
    await page.get_by_label("Password").fill("not the password")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_have_text("E-mail or password is wrong.")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    assert await page.evaluate("() => document.documentElement.scrollHeight <= innerHeight")

    await page.get_by_label("Key name").fill("a program")
    await page.get_by_role("button", name="Create key").click()
    secret = await page.get_by_role("status").locator("code").inner_text()
    assert (await site.admin.as_(secret).get("me")).json["user"]["email"] == ADMIN_EMAIL

    sections = page.get_by_role("navigation", name="Sections of the settings")
    await sections.get_by_role("link", name="Models").click()
    await expect(page.get_by_role("cell", name="sim")).to_be_visible()
    await tab.go("/settings/users")  # its older address
    await expect(page.get_by_role("cell", name=ADMIN_EMAIL)).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("cell", name="sim")).to_be_visible()

    await page.get_by_role("button", name="Ada").click()
    await page.get_by_role("menuitem", name="Sign out").click()
    await expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    tab.content()


async def test_revoking_a_key_asks_first(tab: Tab) -> None:
    page = tab.page
    made = await tab.site.admin.new_key("old program", "read")
    await tab.go("/settings/api-keys")
    await page.get_by_role("button", name="Revoke old program").click()
    asked = page.get_by_role("alertdialog", name="Revoke the API key “old program”?")
    await expect(asked.get_by_role("button", name="Cancel")).to_be_focused()
    await asked.get_by_role("button", name="Cancel").click()
    revoke = page.get_by_role("button", name="Revoke old program")
    await expect(revoke).to_be_focused()
    assert (await tab.site.admin.as_(made["secret"]).get("me")).status == 200
    await revoke.click()
    await asked.get_by_role("button", name="Revoke").click()
    await expect(revoke).to_have_count(0)
    assert (await tab.site.admin.as_(made["secret"]).get("me")).status == 401
    tab.content()


async def test_people_are_searched_and_paged_by_the_server(tab: Tab) -> None:
    page = tab.page
    for number in range(60):
        body = {"name": f"User {number:02}", "email": f"u{number:02}@acme.example"}
        assert (await tab.site.admin.post("users", body)).status == 201
    await tab.go("/settings/users")  # its older address
    table = page.get_by_role("region", name="People").get_by_role("table")
    await expect(table.get_by_role("row")).to_have_count(51)
    await page.get_by_role("button", name="Next page").click()
    await expect(table.get_by_role("cell", name="User 59 u59")).to_be_visible()
    await page.reload()
    await expect(table.get_by_role("cell", name="User 59 u59")).to_be_visible()
    await page.go_back()
    await expect(table.get_by_role("row")).to_have_count(51)
    await page.get_by_label("Find people").fill("u57 acme")
    await expect(table.get_by_role("row")).to_have_count(2)
    await expect(page.get_by_label("Find people")).to_be_focused()
    await page.wait_for_url("**/admin/people?q=u57+acme")
    tab.content()


async def test_an_address_that_does_not_exist_leads_back_to_the_chats(tab: Tab) -> None:
    page = tab.page
    for path in ("/settings/no-such-section", "/admin/no-such-section", "/no/such/page"):
        await tab.go(path)
        await expect(page.get_by_text("Page not found")).to_be_visible()
        await page.get_by_role("link", name="Back to chats").click()
        await expect(page.locator("[data-composer]")).to_be_visible()
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
    await page.locator("h1 button").click()
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
    await tab.go("/chats/chat_01890000000070008000000000000000")
    await expect(tab.page.get_by_text("Chat not found")).to_be_visible()
    tab.content()
