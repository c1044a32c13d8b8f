"""Everybody who looks at a chat sees the same: two tabs, and the command line."""

import asyncio
from pathlib import Path

import orjson
import pytest
from playwright.async_api import BrowserContext, Locator, expect

from tests.requirements import requirement
from tests.support.browser import PATIENCE_MS, Site, Tab, open_tab
from tests.support.numbered import NUMBERS, counting, messages_of, numbers_of, whole
from tests.support.terminal import Cli

pytestmark = pytest.mark.asyncio(loop_scope="session")


def composer(tab: Tab) -> Locator:
    return tab.page.locator("[data-composer]")


async def draft_is_saved(tab: Tab, chat_id: str, text: str) -> None:
    """In the storage that all tabs of a profile share, as this tab reads it."""
    await tab.page.wait_for_function(
        "([chat, text]) => localStorage.getItem(`holdfast.draft.${chat}`)?.includes(text)",
        arg=[chat_id, text],
    )


@pytest.fixture
def cli(site: Site, tmp_path: Path) -> Cli:
    return Cli(tmp_path, site.url, site.admin.headers["authorization"].split()[1])


async def user_messages(tab: Tab) -> list[str]:
    """What people said, in the order of the page."""
    return await tab.page.locator(".user-message .rounded-card").all_inner_texts()


@requirement("F07", "L62")
@pytest.mark.essential
@pytest.mark.ui_item(5)
async def test_two_tabs_and_the_command_line_agree(
    tab: Tab, context: BrowserContext, site: Site, cli: Cli
) -> None:
    """All three speak, some of them while the agent works."""
    chat_id = await tab.new_chat(counting(20, 300))
    other = await open_tab(context, site)
    await other.go(f"/chats/{chat_id}")
    for each in (tab, other):
        await each.watch()
    says = [f'[[sim: say "answer {number}"]]' for number in range(4)]
    async with cli.started("attach", chat_id, "--follow", "--jsonl") as attached:
        await tab.say(says[0])
        await expect(other.page.get_by_role("region", name="Queue")).to_contain_text("answer 0")
        assert (await cli.run("send", chat_id, says[1])).code == 0
        await other.say(says[2])
        await whole(tab, chat_id)
        await tab.say(says[3])
        for each in (tab, other):
            await expect(each.page.locator("[data-key='m10.0']")).to_have_text("answer 3")
        followed = await until_answer(attached, "answer 3")
    await site.admin.until(chat_id, "idle")
    stored = await messages_of(site.admin, chat_id)
    order = [each["parts"][0]["text"] for each in stored if each["role"] == "user"]
    assert order == [counting(20, 300), *says]
    assert await user_messages(tab) == await user_messages(other) == order
    assert followed == [each["seq"] for each in stored], "once, and in the same order"
    assert await numbers_of(tab) == await numbers_of(other) == NUMBERS[:300]
    shown = orjson.loads((await cli.run("export", chat_id, "--format", "json")).out)
    assert [each["seq"] for each in shown["messages"]] == followed
    for each in (tab, other):
        await each.settled()
        assert set((await each.seen()).most.values()) == {1}, "never twice, not for a moment"
    assert await tab.shown() == await other.shown()


async def until_answer(attached: asyncio.subprocess.Process, text: str) -> list[int]:
    """The seqs of all messages that it told of, until one that says so."""
    assert attached.stdout is not None
    seqs: list[int] = []
    async with asyncio.timeout(PATIENCE_MS / 1000):
        async for line in attached.stdout:
            event = orjson.loads(line)
            if event["type"] != "message.created":
                continue
            seqs.append(event["data"]["seq"])
            parts = event["data"]["parts"]
            if event["data"]["role"] == "assistant" and parts[0].get("text") == text:
                return seqs
    raise AssertionError(f"it ended without {text!r}")


@pytest.mark.essential
@pytest.mark.ui_item(5)
async def test_a_draft_is_of_one_chat_and_of_one_tab_and_survives(
    tab: Tab, context: BrowserContext, site: Site
) -> None:
    first = await site.admin.new_chat('[[sim: say "one"]]')
    second = await site.admin.new_chat('[[sim: say "two"]]')
    await tab.go(f"/chats/{first}")
    other = await open_tab(context, site)
    await other.go(f"/chats/{first}")
    await expect(composer(other)).to_be_visible()
    await composer(tab).fill("half a thought")
    for each in (tab, other):
        await draft_is_saved(each, first, "half a thought")
    await expect(composer(other)).to_have_value("")
    await other.go(f"/chats/{second}")
    await expect(composer(other)).to_have_value("")
    await other.page.go_back()
    await other.page.close()

    await tab.go(f"/chats/{second}")
    await expect(composer(tab)).to_have_value("")
    await tab.page.keyboard.press("Control+Shift+O")
    await tab.page.wait_for_url(lambda url: "/chats/" not in url)
    await expect(composer(tab)).to_have_value("")
    await tab.go(f"/chats/{first}")
    await expect(composer(tab)).to_have_value("half a thought")


@pytest.mark.ui_item(5)
async def test_a_tab_that_closes_leaves_the_draft_of_another_alone(
    tab: Tab, context: BrowserContext, site: Site
) -> None:
    """If the browser dies now, what was written in the tab that is left is still there."""
    chat_id = await site.admin.new_chat('[[sim: say "one"]]')
    other = await open_tab(context, site)
    await other.go(f"/chats/{chat_id}")
    await expect(composer(other)).to_be_visible()
    await tab.go(f"/chats/{chat_id}")
    await composer(tab).fill("half a thought")
    await draft_is_saved(tab, chat_id, "half a thought")
    await other.page.close(run_before_unload=True)
    fresh = await open_tab(context, site)
    await fresh.go(f"/chats/{chat_id}")
    await expect(composer(fresh)).to_have_value("half a thought")
