"""Stop ends the turn on the server, and what was said by then stays."""

import re
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect

from tests.requirements import requirement
from tests.support.browser import PATIENCE_MS, Site, Tab, a_site_of_its_own
from tests.support.browser_tools import with_tools
from tests.support.numbered import messages_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

WORDS = 4000
SLOW = f"[[sim: words={WORDS} | rate=25]]"
"""Longer than any test: an answer that is stopped before it is over."""
DIVIDER = "Stopped"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(template: str) -> AsyncGenerator[Site]:
    async with a_site_of_its_own(template, around=with_tools) as site:
        yield site


def stop_button(tab: Tab) -> Locator:
    return tab.page.get_by_role("button", name="Stop", exact=True)


async def saying(tab: Tab) -> tuple[str, Locator]:
    """A chat in which twenty words were said, and more are to come."""
    chat_id = await tab.new_chat(SLOW)
    said = tab.page.locator("[data-key='m2.0']")
    await expect(said).to_have_text(re.compile(r"(\w+\W+){20}"), timeout=PATIENCE_MS)
    return chat_id, said


async def assert_stopped(tab: Tab, chat_id: str, said: Locator) -> None:
    """On the server, with what the page shows as what was said."""
    chat = await tab.site.admin.until(chat_id, "idle")
    await tab.settled()
    messages = await messages_of(tab.site.admin, chat_id)
    assert chat["last_seq"] == messages[-1]["seq"]
    assert messages[-1]["finish_reason"] == "interrupted"
    kept = messages[-1]["parts"][-1]["text"].split()
    assert 20 <= len(kept) < WORDS
    assert (await said.inner_text()).split() == kept
    await expect(tab.page.get_by_text(DIVIDER)).to_be_visible()


@requirement("F06")
@pytest.mark.essential
@pytest.mark.ui_item(6)
async def test_a_turn_is_stopped_and_goes_on_when_asked_to(tab: Tab) -> None:
    chat_id, said = await saying(tab)
    await stop_button(tab).click()
    await assert_stopped(tab, chat_id, said)
    await tab.page.reload()
    await expect(tab.page.get_by_text(DIVIDER)).to_be_visible()
    go_on = tab.page.get_by_role("button", name="Continue", exact=True)
    await go_on.click()
    await tab.page.wait_for_selector("[data-key^='m4.']")
    await tab.settled()
    chat = await tab.site.admin.until(chat_id, "idle")
    messages = await messages_of(tab.site.admin, chat_id)
    assert [each["role"] for each in messages] == ["user", "assistant", "user", "assistant"]
    assert (messages[-1]["finish_reason"], chat["last_seq"]) == ("stop", 4)
    await expect(go_on).to_have_count(0)
    await expect(tab.page.get_by_text(DIVIDER)).to_have_count(1)


@requirement("F06")
@pytest.mark.ui_item(6)
async def test_after_a_reload_there_is_still_a_stop(tab: Tab) -> None:
    chat_id, said = await saying(tab)
    await tab.page.reload()
    await stop_button(tab).click()
    await assert_stopped(tab, chat_id, said)


@requirement("F06")
@pytest.mark.essential
@pytest.mark.ui_item(6)
async def test_escape_stops_when_it_is_pressed_twice(tab: Tab) -> None:
    chat_id, said = await saying(tab)
    await tab.page.locator("[data-composer]").press("Escape")
    await expect(tab.page.get_by_text("Esc again to stop")).to_be_visible()
    assert (await tab.site.admin.get(f"chats/{chat_id}")).json["status"] == "running"
    await tab.page.locator("[data-composer]").press("Escape")
    await assert_stopped(tab, chat_id, said)


@requirement("F06")
@pytest.mark.ui_item(6)
async def test_a_tool_that_runs_is_stopped(tab: Tab) -> None:
    chat_id = await tab.new_chat('[[sim: call count_up {"lines": 900} | then | say "never"]]')
    await expect(tab.page.get_by_role("log")).to_contain_text(
        re.compile(r"o\d{3}"), timeout=PATIENCE_MS
    )
    await stop_button(tab).click()
    await tab.site.admin.until(chat_id, "idle")
    await expect(tab.page.get_by_text(DIVIDER)).to_be_visible()
    await expect(tab.page.locator("[data-key='m2.0']")).to_contain_text("cancelled")
    results = [
        part
        for message in await messages_of(tab.site.admin, chat_id)
        for part in message["parts"]
        if part["type"] == "tool_result"
    ]
    assert [each["synthetic_reason"] for each in results] == ["interrupted"]


@requirement("F06")
@pytest.mark.ui_item(6)
async def test_a_stop_that_does_not_reach_the_server_is_said(tab: Tab) -> None:
    chat_id, _ = await saying(tab)
    await tab.page.route("**/interrupt", lambda route: route.abort())
    await stop_button(tab).click()
    alert = tab.page.get_by_role("alert").filter(has_text="The server does not answer")
    await expect(alert).to_be_visible(timeout=PATIENCE_MS)
    await expect(stop_button(tab)).to_be_visible()
    await tab.page.unroute("**/interrupt")
    await stop_button(tab).click()
    await tab.site.admin.until(chat_id, "idle")
