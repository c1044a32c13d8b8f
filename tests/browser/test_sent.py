"""A sent message is never out of sight, goes by itself, and arrives once, whatever is cut."""

import random

import pytest
from playwright.async_api import BrowserContext, expect

from tests.support.browser import Tab, open_tab
from tests.support.numbered import counting
from tests.support.send_cuts import cut_sends

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(3)]


async def test_random_cuts_around_send_show_each_message_at_once_and_deliver_it_once(
    tab: Tab, context: BrowserContext
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    cuts = await cut_sends(tab, context, seed, chats=2, messages=15)
    assert (cuts.wrong, cuts.late) == ([], []), f"seed {seed}, {dict(cuts.kinds)}"


async def test_what_is_sent_while_a_turn_runs_and_the_network_is_away_is_seen_and_goes_by_itself(
    tab: Tab, context: BrowserContext
) -> None:
    chat_id = await tab.new_chat(counting(20))
    await expect(tab.page.locator("[data-key='m2.0']")).to_contain_text("n005")
    await context.set_offline(True)
    await tab.say("and this")
    waiting = tab.page.get_by_role("region", name="Queue").get_by_text("and this")
    await expect(waiting).to_be_visible()
    await expect(tab.page.get_by_text("Sent when the server answers")).to_be_visible()
    await context.set_offline(False)
    await expect(tab.page.get_by_text("Sent when the server answers")).to_have_count(0)
    queued = (await tab.site.admin.get(f"chats/{chat_id}/queue")).json["data"]
    assert [each["parts"][0]["text"] for each in queued] == ["and this"]
    await tab.site.admin.post(f"chats/{chat_id}/interrupt")


async def test_a_message_that_begins_a_chat_survives_its_tab(
    tab: Tab, context: BrowserContext
) -> None:
    await tab.page.route("**/api/v1/chats", lambda route: route.abort("connectionreset"))
    await tab.say("the first words")
    await expect(
        tab.page.get_by_label("Not sent yet").get_by_text("the first words")
    ).to_be_visible()
    await tab.page.close()
    again = await open_tab(context, tab.site)
    await again.go()
    await again.page.wait_for_url("**/chats/*")
    await expect(again.page.get_by_role("log").get_by_text("the first words").first).to_be_visible()


async def test_after_signing_out_nothing_that_was_not_sent_is_left(
    tab: Tab, context: BrowserContext
) -> None:
    await tab.new_chat("hello")
    await tab.settled()
    await tab.page.route("**/api/v1/chats/*/messages", lambda route: route.abort())
    await tab.say("a secret")
    await expect(tab.page.get_by_text("a secret")).to_be_visible()
    await tab.go("/settings")
    await tab.page.get_by_role("button", name="Ada").click()
    await tab.page.get_by_role("menuitem", name="Sign out").click()
    await expect(tab.page.get_by_label("E-mail")).to_be_visible()
    left = await tab.page.evaluate(
        """() => new Promise((resolve) => {
          const asked = indexedDB.open("holdfast.outbox/");
          asked.onsuccess = () => {
            const all = asked.result.transaction("messages").objectStore("messages").count();
            all.onsuccess = () => resolve(all.result);
          };
        })"""
    )
    assert left == 0
