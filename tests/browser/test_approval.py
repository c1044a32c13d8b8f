"""What waits for a person: decided, answered, expired, or decided in another tab."""

from collections.abc import AsyncGenerator
from typing import Any

import asyncpg
import orjson
import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from tests.support.browser import PATIENCE_MS, Site, Tab, a_site_of_its_own, open_tab
from tests.support.browser_tools import with_tools
from tests.support.numbered import messages_of
from tests.support.web import uuid_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

RULES = {"rules": [{"tool": "clock", "action": "ask"}]}
CLOCK = '[[sim: call clock {} | then | say "so late"]]'
QUESTION = '[[sim: call ask_person {"question": "Red or blue?"} | then | say "as you say"]]'


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(template: str) -> AsyncGenerator[Site]:
    rules = orjson.dumps(RULES).decode()
    async with a_site_of_its_own(
        template, around=with_tools, approvals=rules, approval_wait_s=3600
    ) as site:
        yield site


def approval(tab: Tab) -> Locator:
    return tab.page.get_by_role("region", name="Approval of clock")


def question(tab: Tab) -> Locator:
    return tab.page.get_by_role("region", name="A question for you")


async def asked(tab: Tab) -> str:
    chat_id = await tab.new_chat(CLOCK)
    await expect(approval(tab)).to_be_visible(timeout=PATIENCE_MS)
    return chat_id


async def result_of(tab: Tab, chat_id: str) -> dict[str, Any]:
    await tab.site.admin.until(chat_id, "idle", within_s=60)
    messages = await messages_of(tab.site.admin, chat_id)
    (result,) = [p for m in messages for p in m["parts"] if p["type"] == "tool_result"]
    return result


async def assert_over(tab: Tab) -> None:
    await expect(tab.page.get_by_role("log")).to_contain_text("so late", timeout=PATIENCE_MS)
    await expect(tab.page.locator("[data-key='m4.0']")).to_have_text("so late")
    await expect(approval(tab)).to_have_count(0)


@pytest.mark.essential
@pytest.mark.ui_item(9)
async def test_nothing_runs_before_it_is_approved(tab: Tab) -> None:
    chat_id = await asked(tab)
    await expect(approval(tab)).to_contain_text("Expires in")
    assert len(await messages_of(tab.site.admin, chat_id)) == 2
    await tab.page.reload()
    await approval(tab).get_by_role("button", name="Approve once").click()
    await assert_over(tab)
    result = await result_of(tab, chat_id)
    assert (result["synthetic_reason"], result["is_error"]) == (None, False)


@pytest.mark.essential
@pytest.mark.ui_item(9)
async def test_a_denial_gives_its_reason_to_the_agent(tab: Tab) -> None:
    chat_id = await asked(tab)
    await approval(tab).get_by_role("button", name="Deny…").click()
    await approval(tab).get_by_role("textbox").fill("It is too late for that.")
    await approval(tab).get_by_role("button", name="Deny", exact=True).click()
    await assert_over(tab)
    result = await result_of(tab, chat_id)
    assert "too late for that" in str(result["output"])
    await expect(tab.page.locator("[data-key='m2.0']")).to_contain_text("denied")


@pytest.mark.ui_item(9)
async def test_who_decides_in_another_tab_decides_for_all(
    tab: Tab, context: BrowserContext, site: Site
) -> None:
    chat_id = await asked(tab)
    other = await open_tab(context, site)
    await other.go(f"/chats/{chat_id}")
    await expect(approval(other)).to_be_visible(timeout=PATIENCE_MS)
    await approval(other).get_by_role("button", name="Approve once").click()
    await assert_over(other)
    await assert_over(tab)
    assert await tab.shown() == await other.shown()


@pytest.mark.ui_item(9)
async def test_a_decision_that_comes_too_late_is_refused_in_words(tab: Tab) -> None:
    chat_id = await asked(tab)
    action = (await tab.site.admin.get(f"chats/{chat_id}")).json["action_required"]
    call = action["calls"][0]

    async def overtaken(route: Any) -> None:
        """Somebody else's word reaches the server while ours is on its way."""
        decision = {"call_id": call["call_id"], "digest": call["digest"], "decision": "deny"}
        word = {"decisions": [decision]}
        assert (await tab.site.admin.post(f"chats/{chat_id}/tool-decisions", word)).status == 202
        await route.continue_()

    await tab.watch()
    await tab.page.route("**/tool-decisions", overtaken)
    await approval(tab).get_by_role("button", name="Approve once").click()
    await assert_over(tab)
    result = await result_of(tab, chat_id)
    assert result["is_error"] or result["synthetic_reason"] is not None, "the first word counts"


@pytest.mark.ui_item(9)
async def test_what_nobody_decides_expires(tab: Tab) -> None:
    chat_id = await asked(tab)
    connection = await asyncpg.connect(tab.site.replicas.database_url)
    await connection.execute(
        "update chats set awaiting_until = clock_timestamp() where id = $1", uuid_of(chat_id)
    )
    await connection.close()
    result = await result_of(tab, chat_id)
    assert result["synthetic_reason"] == "expired"
    await assert_over(tab)
    await expect(tab.page.locator("[data-key='m2.0']")).to_contain_text("no answer came in time")


@pytest.mark.essential
@pytest.mark.ui_item(9)
async def test_a_question_is_answered_in_the_page(
    tab: Tab, context: BrowserContext, site: Site
) -> None:
    chat_id = await tab.new_chat(QUESTION)
    await expect(question(tab)).to_contain_text("Red or blue?", timeout=PATIENCE_MS)
    other = await open_tab(context, site)
    await other.go(f"/chats/{chat_id}")
    await question(other).get_by_role("textbox").fill("Blue, please")
    await question(other).get_by_role("button", name="Answer").click()
    for each in (tab, other):
        await expect(each.page.locator("[data-key='m4.0']")).to_have_text("as you say")
        await expect(question(each)).to_have_count(0)
    assert "Blue, please" in str((await result_of(tab, chat_id))["output"])


QUESTIONS = (
    '[[sim: call ask_user {"questions": [{"question": "Which database?", "options":'
    ' [{"label": "PostgreSQL", "detail": "As now."}, {"label": "SQLite"}]},'
    ' {"question": "Which port?"}]} | then | say "so be it"]]'
)


@pytest.mark.ui_item(9)
async def test_questions_with_options_are_answered_by_keyboard_on_a_narrow_screen(
    tab: Tab, context: BrowserContext, site: Site
) -> None:
    await tab.page.set_viewport_size({"width": 360, "height": 640})
    chat_id = await tab.new_chat(QUESTIONS)
    card = question(tab)
    first = card.get_by_role("radio", name="PostgreSQL As now.")
    await expect(first).to_be_checked(timeout=PATIENCE_MS)
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert await tab.page.evaluate(overflow) == 0
    await first.focus()
    await tab.page.keyboard.press("ArrowDown")
    await expect(card.get_by_role("radio", name="SQLite")).to_be_checked()
    await tab.page.keyboard.press("Enter")
    await expect(card.get_by_role("textbox", name="Which port?")).to_be_focused()
    await tab.page.keyboard.type("5433")
    await tab.page.keyboard.press("Tab")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.locator("[data-key='m4.0']")).to_have_text("so be it")
    await expect(card).to_have_count(0)
    assert (await result_of(tab, chat_id))["output"] == {
        "answers": [
            {"question": "Which database?", "chosen": ["SQLite"]},
            {"question": "Which port?", "text": "5433"},
        ]
    }


@pytest.mark.ui_item(9)
async def test_a_question_that_is_stopped_is_gone_in_every_tab(
    tab: Tab, context: BrowserContext, site: Site
) -> None:
    chat_id = await tab.new_chat(QUESTIONS)
    other = await open_tab(context, site)
    await other.go(f"/chats/{chat_id}")
    for each in (tab, other):
        await expect(question(each)).to_be_visible(timeout=PATIENCE_MS)
    await tab.site.admin.post(f"chats/{chat_id}/interrupt", {})
    for each in (tab, other):
        await expect(question(each)).to_have_count(0)
    assert (await result_of(tab, chat_id))["synthetic_reason"] == "interrupted"
