"""Who may only read sees that, who no longer may sees nothing, and strangers find nothing."""

import re
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.support.browser import PATIENCE_MS, Site, Tab, open_tab
from tests.support.identity import PASSWORD

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(20)]

BOB = "bob@acme.example"
SLOW = "[[sim: words=4000 | rate=25]]"
AWAY = "Chat not found"
SEND = """([chat, path, body]) => fetch(`/api/v1/chats/${chat}/${path}`, {
  method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' },
}).then(answer => answer.status)"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bob_id(site: Site) -> str:
    made = await site.admin.post("users", {"name": "Bob", "email": BOB, "password": PASSWORD})
    assert made.status == 201, made.raw
    return made.json["id"]


@pytest_asyncio.fixture(loop_scope="session")
async def bob(browser: Browser, site: Site, bob_id: str) -> AsyncGenerator[Tab]:
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    tab = await open_tab(context, site)
    await tab.go()
    await tab.page.get_by_label("E-mail").fill(BOB)
    await tab.page.get_by_label("Password").fill(PASSWORD)
    await tab.page.get_by_role("button", name="Sign in").click()
    await expect(tab.page.locator("[data-composer]")).to_be_visible()
    yield tab
    await context.close()


async def share(site: Site, chat_id: str, user_id: str, method: str = "PUT") -> None:
    answer = await site.admin.ask(method, f"chats/{chat_id}/shares/{user_id}")
    assert answer.status == 204, answer.raw


async def shared(site: Site, bob_id: str, text: str) -> str:
    chat_id = await site.admin.new_chat(text)
    await share(site, chat_id, bob_id)
    return chat_id


@pytest.mark.essential
async def test_who_may_only_read_sees_it_said_and_has_nothing_to_send_with(
    bob: Tab, site: Site, bob_id: str
) -> None:
    chat_id = await shared(site, bob_id, '[[sim: say "For two."]]')
    await bob.go(f"/chats/{chat_id}")
    page = bob.page
    await expect(page.get_by_role("log")).to_contain_text("For two.", timeout=PATIENCE_MS)
    await expect(page.get_by_text(re.compile("View only: shared by"))).to_be_visible()
    await expect(page.locator("[data-composer]")).to_have_count(0)
    for verb in ("Edit", "Retry", "Rename this chat", "Stop"):
        assert await page.get_by_role("main").get_by_role("button", name=verb).count() == 0, verb
    sent = await page.evaluate(SEND, [chat_id, "messages", {"text": "May I?"}])
    stopped = await page.evaluate(SEND, [chat_id, "interrupt", None])
    assert (sent, stopped) == (404, 404)
    bob.content()


async def test_a_member_may_not_open_the_sections_of_administrators(bob: Tab) -> None:
    page = bob.page
    for path in ("/settings/users", "/admin", "/admin/people", "/admin/models"):
        await bob.go(path)
        await expect(page.get_by_text("Only administrators can open this page")).to_be_visible()
        assert await page.get_by_role("table").count() == 0
    await bob.go("/settings")
    await expect(page.get_by_role("link", name="API keys")).to_be_visible()
    await expect(page.get_by_role("link", name="People")).to_have_count(0)
    await expect(page).to_have_url(re.compile("/settings/appearance$"))
    bob.content()


async def test_who_reads_along_sees_a_turn_and_what_is_asked_in_it_but_cannot_decide(
    bob: Tab, site: Site, bob_id: str
) -> None:
    tool: dict[str, Any] = {
        "name": "look_up",
        "description": "",
        "input_schema": {"type": "object"},
    }
    text = '[[sim: call look_up {"word": "kelp"} | then | say "so"]]'
    begun = await site.admin.post("chats", {"tools": [tool], "message": {"text": text}})
    chat_id = begun.json["chat_id"]
    await share(site, chat_id, bob_id)
    await bob.go(f"/chats/{chat_id}")
    region = bob.page.get_by_role("region", name="Waiting for look_up")
    await expect(region).to_be_visible(timeout=PATIENCE_MS)
    assert await region.get_by_role("button").count() == 0
    bob.content()


@pytest.mark.essential
async def test_a_share_that_is_taken_back_ends_the_stream(
    bob: Tab, site: Site, bob_id: str
) -> None:
    chat_id = await shared(site, bob_id, SLOW)
    await bob.go(f"/chats/{chat_id}")
    log = bob.page.get_by_role("log")
    await expect(log).to_be_visible(timeout=PATIENCE_MS)
    await share(site, chat_id, bob_id, "DELETE")
    await expect(bob.page.get_by_text(AWAY)).to_be_visible(timeout=PATIENCE_MS)
    await expect(log).to_have_count(0)
    assert await bob.page.get_by_role("navigation", name="Chats").get_by_role("link").count() >= 0
    await bob.page.reload()
    await expect(bob.page.get_by_text(AWAY)).to_be_visible(timeout=PATIENCE_MS)
    await site.admin.post(f"chats/{chat_id}/interrupt")
    await site.admin.until(chat_id, "idle")
    bob.content()


async def test_the_address_of_a_strangers_chat_tells_no_more_than_one_that_never_was(
    bob: Tab, site: Site
) -> None:
    chat_id = await site.admin.new_chat('[[sim: say "Secret."]]')
    seen: list[str] = []
    for path in (f"/chats/{chat_id}", "/chats/chat_01890000000070008000000000000000"):
        await bob.go(path)
        await expect(bob.page.get_by_text(AWAY)).to_be_visible(timeout=PATIENCE_MS)
        seen.append(await bob.page.get_by_role("main").inner_text())
        assert await bob.page.locator("[data-composer]").count() == 0
    assert seen[0] == seen[1]
    bob.content()
