"""The first way of a newcomer, and what the page does beside the transcript."""

import re
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, expect

from scripts.ui_stage import LEASES, LONG, SLOW, TESTS, a_stage
from tests.requirements import requirement
from tests.support.browser import PATIENCE_MS, Site, Tab, open_tab
from tests.support.identity import PASSWORD

UNREAD = re.compile(r"^\(\d+\) Holdfast$")

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site() -> AsyncGenerator[Site]:
    """With workspaces, and a model that answers plain questions."""
    async with a_stage() as site:
        yield site


def log_of(tab: Tab) -> Locator:
    return tab.page.get_by_role("log")


async def says(tab: Tab, text: str) -> None:
    await expect(log_of(tab)).to_contain_text(text, timeout=PATIENCE_MS)


async def press(tab: Tab, button: str) -> None:
    await tab.page.get_by_role("button", name=button, exact=True).click()


@requirement("F03", "F06")
@pytest.mark.essential
async def test_who_has_never_seen_it_finds_the_way(tab: Tab) -> None:
    """Every step by what is written on the page: no key, no address, no selector of ours."""
    page = tab.page
    field = page.get_by_placeholder("Ask anything")
    await page.get_by_role("button", name="Run something").click()
    await expect(field).to_be_focused()
    assert "workspace" in await field.input_value()

    await field.fill(TESTS)
    await press(tab, "Send")
    await says(tab, "FAILED")  # what the tool writes while it runs
    await says(tab, "both orders are safe")
    await tab.settled()

    await field.fill(SLOW)
    await press(tab, "Send")
    busy = page.get_by_placeholder("Queue a follow-up")
    await busy.fill("And what did you see?")
    await press(tab, "Queue")
    queue = page.get_by_role("region", name="Queue")
    await expect(queue).to_contain_text("And what did you see?")
    await press(tab, "Stop")
    await says(tab, "Stopped")
    await press(tab, "Resume")  # a stop pauses the queue
    await expect(queue).to_have_count(0, timeout=PATIENCE_MS)
    await tab.settled()

    message = log_of(tab).get_by_role("article").filter(has_text="And what did you see?").first
    await message.hover()
    await message.get_by_role("button", name="Edit").click()
    editor = page.get_by_role("form", name="Edit message")
    await editor.get_by_label("Message").fill(LEASES)
    await press(tab, "Save & resend")
    await says(tab, "only one clock may decide")
    await expect(page.get_by_role("img", name="Version 2 of 2")).to_be_visible()

    await page.get_by_role("link", name="New chat").click()
    await page.get_by_placeholder("Search chat titles").fill("watcher")
    await page.get_by_role("link", name="Run the tests of the watcher…").click()
    await says(tab, "only one clock may decide")
    tab.content()


@pytest.mark.essential
async def test_words_are_found_where_they_are_folded_away(tab: Tab) -> None:
    page = tab.page
    await tab.new_chat(TESTS)
    await says(tab, "both orders are safe")
    await tab.settled()
    hidden = log_of(tab).get_by_text("none is lost")
    await expect(hidden).to_have_count(0)
    await page.keyboard.press("Control+f")
    find = page.get_by_role("searchbox", name="Find in this chat")
    await find.fill("None is LOST")
    await find.press("Enter")
    await expect(hidden.first).to_be_in_viewport()
    await expect(page.get_by_role("search")).to_contain_text("2 of 2")
    found = "[...CSS.highlights.get('found-here')].map(range => range.toString())"
    await page.wait_for_function(f"{found}.length > 0")
    assert set(await page.evaluate(found)) == {"none is lost"}
    await find.press("Escape")
    await expect(find).to_have_count(0)
    assert await page.evaluate("CSS.highlights.size") == 0
    tab.content()


async def test_the_meter_says_how_much_the_model_has_read(tab: Tab) -> None:
    await tab.new_chat(LEASES)
    await says(tab, "nothing worse")
    await tab.settled()
    await tab.page.get_by_role("button", name="Context:").click()
    made_of = tab.page.get_by_role("region", name="Context")
    await expect(made_of).to_contain_text("of 1M tokens")
    await expect(made_of).to_contain_text("sim")
    tab.content()


async def test_a_shared_chat_is_read_under_its_owners_name_until_it_is_taken_back(
    tab: Tab, browser: Browser, site: Site
) -> None:
    page = tab.page
    await tab.new_chat(LEASES)
    await says(tab, "nothing worse")
    await page.get_by_role("main").get_by_role("button", name="More for").click()
    await page.get_by_role("menuitem", name="Share").click()
    dialog = page.get_by_role("dialog", name="Share this chat")
    await expect(dialog.get_by_role("searchbox")).to_be_focused()
    await page.keyboard.type("grace")
    await expect(dialog.get_by_text("Grace Hopper")).to_be_visible()
    await page.keyboard.press("Enter")
    take_out = dialog.get_by_role("button", name="Remove Grace Hopper")
    await expect(take_out).to_be_visible()

    context = await browser.new_context()
    other = await open_tab(context, site)
    await other.go(page.url.removeprefix(site.url))
    await other.page.get_by_label("E-mail").fill("grace@acme.example")
    await other.page.get_by_label("Password").fill(PASSWORD)
    await press(other, "Sign in")
    await says(other, "nothing worse")
    await expect(other.page.get_by_text("View only: shared by Ada")).to_be_visible()
    await expect(log_of(other).get_by_text("Ada", exact=True)).to_be_visible()
    assert await other.page.locator("[data-composer]").count() == 0

    await take_out.click()
    await expect(dialog).to_contain_text("Only you")
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await other.page.reload()
    await expect(other.page.get_by_text("you don’t have access")).to_be_visible(timeout=PATIENCE_MS)
    tab.content()
    await context.close()


@requirement("F03")
async def test_a_queued_message_is_dragged_to_its_place(tab: Tab) -> None:
    page = tab.page
    chat_id = await tab.new_chat(SLOW)
    await page.get_by_role("button", name="Stop").wait_for()
    for text in ("first", "second", "third"):
        await tab.say(text)
        await expect(page.get_by_role("region", name="Queue")).to_contain_text(text)
    handle = page.locator("[data-handle]").nth(2)
    box = await handle.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + 8, box["y"] + 8)
    await page.mouse.down()
    await page.mouse.move(box["x"] + 8, box["y"] - 20, steps=4)
    await page.mouse.move(box["x"] + 8, box["y"] - 50, steps=4)
    rows = page.get_by_role("region", name="Queue").get_by_role("listitem")
    await expect(rows.first).to_contain_text("third")
    async with page.expect_response(lambda answer: answer.request.method == "PATCH") as placed:
        await page.mouse.up()
    assert (await placed.value).ok
    chat = (await tab.site.admin.get(f"chats/{chat_id}")).json
    assert [each["parts"][0]["text"] for each in chat["queue"]] == ["third", "first", "second"]
    for text in ("third", "first", "second"):
        await page.get_by_role("button", name=f"Delete: {text}").click()
    await press(tab, "Stop")
    await tab.settled()
    tab.content()


async def test_who_looks_at_another_chat_is_told_that_one_has_ended(tab: Tab) -> None:
    page = tab.page
    chat_id = await tab.new_chat(LONG)
    await expect(page.get_by_role("button", name="Stop")).to_be_visible(timeout=PATIENCE_MS)
    await page.get_by_role("link", name="New chat").click()
    told = page.get_by_role("status").filter(has_text=f"Finished: {LONG}")
    await expect(told.first).to_be_visible(timeout=PATIENCE_MS)
    await expect(page).to_have_title(UNREAD)
    await press(tab, "Open")
    await page.wait_for_url(f"**/chats/{chat_id}")
    await expect(page).to_have_title(re.compile(f"{re.escape(LONG)} · Holdfast$"))
    tab.content()


async def test_who_turned_it_off_is_not_told(tab: Tab) -> None:
    page = tab.page
    await tab.go("/settings/notifications")
    await page.get_by_role("switch", name="Notify me").click()
    chat_id = await tab.new_chat(LONG)
    await expect(page.get_by_role("button", name="Stop")).to_be_visible(timeout=PATIENCE_MS)
    await page.get_by_role("link", name="New chat").click()
    await tab.site.admin.until(chat_id, "idle", within_s=PATIENCE_MS / 1000)
    unread = page.get_by_role("link", name=LONG).first.get_by_label("unread")
    await expect(unread).to_be_visible(timeout=PATIENCE_MS)  # it knows, and is silent
    assert await page.get_by_text("Finished:").count() == 0
    tab.content()


async def test_the_width_of_the_list_is_kept(tab: Tab, context: BrowserContext) -> None:
    page = tab.page
    edge = page.get_by_role("separator", name="Width of the list")
    chats = page.get_by_role("navigation", name="Chats")

    async def is_wide(px: int) -> None:
        await page.wait_for_function(
            "px => document.querySelector('nav[aria-label=Chats]')"
            ".getBoundingClientRect().width === px",
            arg=px,
        )

    await is_wide(280)
    await edge.focus()
    await page.keyboard.press("ArrowRight")
    await is_wide(300)
    await page.mouse.move(300, 400)
    await page.mouse.down()
    await page.mouse.move(900, 400, steps=5)
    await page.mouse.up()
    await is_wide(420)
    await page.reload()
    await chats.wait_for()
    await is_wide(420)
    tab.content()


async def test_the_foot_of_a_turn_names_the_model_that_answered(tab: Tab) -> None:
    """Also where nobody has chosen one."""
    models = (await tab.site.admin.get("models")).json["data"]
    await tab.new_chat('[[sim: say "Hello."]]')
    await tab.settled()
    foot = log_of(tab).locator("article").last
    await expect(foot).to_contain_text("tokens")
    await expect(foot).to_contain_text(next(each["id"] for each in models if each["is_default"]))
