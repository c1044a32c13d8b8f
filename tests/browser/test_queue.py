"""What waits in the queue is the server's: shown, moved, taken out, sent now, deleted."""

import asyncio
import random
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, Route, expect

from tests.requirements import requirement
from tests.support.browser import PATIENCE_MS, Site, Tab, open_tab
from tests.support.numbered import messages_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

SLOW = "[[sim: words=4000 | rate=25]]"
"""Longer than any test: a turn that is ended before it is over."""
RACES = 8
GONE = "no longer in the queue"
CLICK_SOON = """([name, afterMs]) => new Promise((done) => setTimeout(() => {
  const button = document.querySelector(`[aria-label="${name}"]`);
  button?.click();
  done(button !== null);
}, afterMs))"""
"""Whether it was still there."""


def queue_of(tab: Tab) -> Locator:
    return tab.page.get_by_role("region", name="Queue")


def composer(tab: Tab) -> Locator:
    return tab.page.locator("[data-composer]")


async def waiting(tab: Tab, chat_id: str) -> list[str]:
    chat = (await tab.site.admin.get(f"chats/{chat_id}")).json
    return [each["parts"][0]["text"] for each in chat["queue"]]


async def said(tab: Tab, chat_id: str) -> list[str]:
    """By people, as stored."""
    messages = await messages_of(tab.site.admin, chat_id)
    return [each["parts"][0]["text"] for each in messages if each["role"] == "user"]


async def busy(tab: Tab, *queued: str) -> str:
    """A chat that is busy for long, with these in its queue."""
    chat_id = await tab.new_chat(SLOW)
    # An answer that is stopped before its first word is not kept. The model would answer both
    # messages in the next turn, and the chat would be busy for as long again.
    await expect(tab.page.get_by_role("log")).to_contain_text("Writing", timeout=PATIENCE_MS)
    for text in queued:
        await queue_up(tab, text)
    return chat_id


async def queue_up(tab: Tab, text: str) -> None:
    """Send a message while the agent is busy, and wait until the server has it in the queue."""
    await tab.say(text)
    await expect(queue_of(tab)).to_contain_text(text)
    # The page shows the message before the server has it, and an interrupt could overtake it.
    await expect(queue_of(tab)).not_to_contain_text("Sending")


async def stop(tab: Tab, chat_id: str) -> None:
    await tab.site.admin.post(f"chats/{chat_id}/interrupt")
    await tab.site.admin.until(chat_id, "idle")


@requirement("F03")
@pytest.mark.essential
@pytest.mark.ui_item(7)
async def test_what_waits_is_shown_moved_taken_out_and_deleted(tab: Tab) -> None:
    chat_id = await busy(tab, "first", "second", "third")
    await tab.page.get_by_role("button", name="Move up: third").click()
    await expect(queue_of(tab).get_by_role("listitem").nth(1)).to_contain_text("third")
    await tab.page.get_by_role("button", name="Delete: first").click()
    await expect(queue_of(tab)).not_to_contain_text("first")
    assert await waiting(tab, chat_id) == ["third", "second"]
    await tab.page.get_by_role("button", name="Edit: third").click()
    await expect(composer(tab)).to_have_value("third")
    assert await waiting(tab, chat_id) == ["second"]
    await tab.page.reload()
    await expect(queue_of(tab).get_by_role("listitem")).to_have_count(1)
    await expect(composer(tab)).to_have_value("third")
    await tab.page.get_by_role("button", name="Delete: second").click()
    await expect(queue_of(tab)).to_have_count(0)
    await stop(tab, chat_id)


@requirement("F03")
@pytest.mark.ui_item(7)
async def test_send_now_ends_the_turn_and_says_that_message_next(tab: Tab) -> None:
    chat_id = await busy(tab, '[[sim: say "one"]]', '[[sim: say "two"]]')
    await tab.page.get_by_role("button", name='Send now: [[sim: say "two').click()
    await tab.site.admin.until(chat_id, "idle", within_s=60)
    assert await said(tab, chat_id) == [SLOW, '[[sim: say "two"]]', '[[sim: say "one"]]']
    first = (await messages_of(tab.site.admin, chat_id))[1]
    assert first["finish_reason"] == "interrupted"
    await tab.settled()
    await expect(queue_of(tab)).to_have_count(0)


@requirement("F03")
@pytest.mark.essential
@pytest.mark.ui_item(7)
async def test_an_edit_that_comes_when_the_message_was_just_sent_takes_nothing(tab: Tab) -> None:
    """The request to take it out is held on its way until the turn is over."""
    chat_id = await busy(tab, '[[sim: say "just sent"]]')
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await go_on.wait()
        await route.continue_()

    await tab.page.route("**/queue/*", hold)
    await composer(tab).fill("a draft")
    await queue_of(tab).get_by_role("button", name="Edit:").click()
    await asyncio.wait_for(asked.wait(), PATIENCE_MS / 1000)
    await tab.site.admin.post(f"chats/{chat_id}/interrupt")
    await tab.site.admin.until(chat_id, "idle")
    await tab.site.admin.post(f"chats/{chat_id}/queue/resume")  # a stop pauses the queue
    await tab.site.admin.until(chat_id, "idle")
    go_on.set()
    await expect(tab.page.get_by_role("alert").filter(has_text=GONE)).to_be_visible()
    await expect(composer(tab)).to_have_value("a draft")
    assert await said(tab, chat_id) == [SLOW, '[[sim: say "just sent"]]']


@requirement("F03")
@pytest.mark.ui_item(7)
async def test_an_edit_in_the_instant_in_which_the_turn_ends_neither_loses_nor_doubles(
    tab: Tab,
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    ends = {"taken": 0, "too late": 0, "gone": 0}
    for number in range(RACES):
        text = f"queued {number}"
        chat_id = await busy(tab, text)
        after_ms = chance.uniform(0, 120)
        _, is_clicked = await asyncio.gather(
            tab.site.admin.post(f"chats/{chat_id}/interrupt"),
            tab.page.evaluate(CLICK_SOON, [f"Edit: {text}", after_ms]),
        )
        await tab.site.admin.until(chat_id, "idle")
        is_sent = text in await said(tab, chat_id)
        await expect(composer(tab)).to_have_value("" if is_sent else text)
        told = tab.page.get_by_role("alert").filter(has_text=GONE)
        await expect(told).to_have_count(int(is_sent and is_clicked))
        assert await waiting(tab, chat_id) == []
        ends["taken" if not is_sent else "too late" if is_clicked else "gone"] += 1
        await composer(tab).fill("")
    print(ends)


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser, site: Site) -> AsyncGenerator[BrowserContext]:
    context = await browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    yield context
    await context.close()
    site.content()


async def choose(tab: Tab, text: str, name: str) -> None:
    """By finger: the menu of a message that waits, and what is in it."""
    await tab.page.get_by_role("button", name=f"More: {text}").tap()
    await tab.page.get_by_role("menuitem", name=name).tap()


@requirement("F03")
@pytest.mark.essential
@pytest.mark.ui_item(7)
async def test_the_queue_is_used_by_finger_on_a_phone(phone: BrowserContext, site: Site) -> None:
    tab = await open_tab(phone, site)
    await tab.sign_in()

    async def say(text: str) -> None:
        await composer(tab).fill(text)
        await (
            tab.page.get_by_role("button", name="Send")
            .or_(tab.page.get_by_role("button", name="Queue", exact=True))
            .first.tap()
        )

    await say(SLOW)
    await tab.page.wait_for_url("**/chats/*")
    chat_id = tab.page.url.rsplit("/", 1)[1]
    await expect(tab.page.get_by_role("button", name="Stop")).to_be_visible(timeout=PATIENCE_MS)
    for text in ("first", "second", "third"):
        await say(text)
        await expect(queue_of(tab)).to_contain_text(text)
    await choose(tab, "third", "Move up")
    await expect(queue_of(tab).get_by_role("listitem").nth(1)).to_contain_text("third")
    await choose(tab, "first", "Delete")
    await expect(queue_of(tab)).not_to_contain_text("first")
    assert await waiting(tab, chat_id) == ["third", "second"]
    await choose(tab, "third", "Edit")
    await expect(composer(tab)).to_have_value("third")
    await choose(tab, "second", "Send now")
    await tab.site.admin.until(chat_id, "idle", within_s=60)
    assert await said(tab, chat_id) == [SLOW, "second"]
    await expect(composer(tab)).to_have_value("third")
