"""What the model says is shown once and in order, whatever happens on the way."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import BrowserContext, expect

from tests.requirements import requirement
from tests.support.browser import PATIENCE_MS, Site, Tab, open_tab

pytestmark = pytest.mark.asyncio(loop_scope="module")

COUNT = 500
NUMBERS = [f"n{number:03}" for number in range(COUNT)]


def counting(rate: int) -> str:
    """A prompt whose answer is 500 numbered words, so many a second."""
    return f'[[sim: say "{" ".join(NUMBERS)}" | rate={rate}]]'


async def numbers_of(tab: Tab) -> list[str]:
    """As the answer shows them: message 2, part 0."""
    return (await tab.page.locator("[data-key='m2.0']").inner_text()).split()


async def whole(tab: Tab) -> None:
    """Until the last word is there and the turn is over."""
    answer = tab.page.locator("[data-key='m2.0']")
    await expect(answer).to_contain_text("n499", timeout=PATIENCE_MS)
    await tab.settled()


async def no_alert(tab: Tab) -> None:
    assert "".join(await tab.page.get_by_role("alert").all_inner_texts()) == ""


async def stored(tab: Tab, chat_id: str) -> list[str]:
    page = (await tab.site.admin.get(f"chats/{chat_id}/messages")).json
    return words_of(page["messages"][-1])


def words_of(message: dict[str, Any]) -> list[str]:
    return "".join(str(part.get("text", "")) for part in message["parts"]).split()


async def begun(tab: Tab, rate: int) -> str:
    return await tab.new_chat(counting(rate))


@requirement("F07")
async def test_500_numbered_words_are_shown_once_and_in_order(tab: Tab) -> None:
    chat_id = await begun(tab, 400)
    await whole(tab)
    assert await stored(tab, chat_id) == NUMBERS
    assert await numbers_of(tab) == NUMBERS
    await tab.page.reload()
    await expect(tab.page.locator("[data-key='m2.0']")).to_contain_text("n499")
    assert await numbers_of(tab) == NUMBERS
    tab.content()


@requirement("F07")
async def test_a_reload_in_mid_answer_loses_and_doubles_nothing(tab: Tab) -> None:
    await begun(tab, 120)
    for _ in range(3):
        await asyncio.sleep(0.8)
        await tab.page.reload()
    await whole(tab)
    assert await numbers_of(tab) == NUMBERS
    tab.content()


@requirement("F07")
async def test_a_cut_connection_loses_and_doubles_nothing_and_is_no_error(
    tab: Tab, context: BrowserContext
) -> None:
    await begun(tab, 120)
    for _ in range(3):
        await asyncio.sleep(0.5)
        await context.set_offline(True)
        await asyncio.sleep(0.3)
        await context.set_offline(False)
    assert await tab.page.get_by_text("Reconnecting").count() == 0, "sooner than two seconds"
    await whole(tab)
    assert await numbers_of(tab) == NUMBERS
    await no_alert(tab)
    tab.content()


@requirement("F07", "L62")
async def test_two_tabs_agree(tab: Tab, context: BrowserContext, site: Site) -> None:
    chat_id = await begun(tab, 300)
    other = await open_tab(context, site)
    await other.go(f"/chats/{chat_id}")
    await other.page.locator("[data-composer]").fill("a draft of this tab")
    await whole(tab)
    await tab.say('[[sim: say "second answer"]]')
    for each in (tab, other):
        await expect(each.page.get_by_role("log")).to_contain_text(
            "second answer", timeout=PATIENCE_MS
        )
    await tab.settled()
    await other.settled()
    assert await tab.shown() == await other.shown()
    for each in (tab, other):
        each.content()


@requirement("F07")
async def test_a_server_that_comes_back_goes_on_where_it_was(tab: Tab, site: Site) -> None:
    """A server that stops keeps what was said as a message, and its successor goes on in another:
    all that is stored is shown, once and in order, and all that was shown before is in it."""
    chat_id = await begun(tab, 100)
    await asyncio.sleep(1)
    before = await numbers_of(tab)
    await site.down()
    bar = tab.page.get_by_text("the agent keeps running")
    await expect(bar).to_be_visible(timeout=PATIENCE_MS)
    await no_alert(tab)
    await site.up()
    await expect(bar).to_have_count(0, timeout=PATIENCE_MS)
    await expect(tab.page.get_by_role("log")).to_contain_text("n499", timeout=PATIENCE_MS)
    await tab.settled()
    page: Any = await tab.page.evaluate(
        "path => fetch(path).then(answer => answer.json())", f"/api/v1/chats/{chat_id}/messages"
    )
    replies = [message for message in page["messages"] if message["role"] == "assistant"]
    for reply in replies:
        shown = tab.page.locator(f"[data-key='m{reply['seq']}.0']")
        assert (await shown.inner_text()).split() == words_of(reply)
    assert NUMBERS[: len(before)] == before
    assert words_of(replies[0])[: len(before)] == before
    tab.content()
