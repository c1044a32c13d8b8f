"""A message can be edited and an answer made anew; the version before stays within reach."""

import pytest
from playwright.async_api import Locator, expect

from tests.requirements import requirement
from tests.support.browser import PATIENCE_MS, Tab
from tests.support.numbered import messages_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

SLOW = "[[sim: words=4000 | rate=25]]"
"""Longer than any test: an answer that is ended before it is over."""
RED, BLUE, GREEN = (f'[[sim: say "{word}"]]' for word in ("red", "blue", "green"))


def saying(tab: Tab, text: str) -> Locator:
    """The answer that says so, and nothing else."""
    return tab.page.get_by_role("article").get_by_text(text, exact=True)


async def answered(tab: Tab, chat_id: str, *texts: str) -> None:
    """The answers of the present version, on the server and on the page."""
    await tab.site.admin.until(chat_id, "idle")
    messages = await messages_of(tab.site.admin, chat_id)
    said = [each["parts"][-1]["text"] for each in messages if each["role"] == "assistant"]
    assert said == list(texts)
    for text in texts:
        await expect(saying(tab, text)).to_be_visible(timeout=PATIENCE_MS)


async def edit(tab: Tab, at: int, text: str) -> None:
    """The message at this place, as people count them."""
    message = tab.page.locator(".user-message").nth(at)
    await message.hover()
    await message.get_by_role("button", name="Edit").click()
    editor = tab.page.get_by_role("form", name="Edit message")
    await editor.get_by_role("textbox").fill(text)
    await editor.get_by_role("button", name="Save & resend").click()


def versions(tab: Tab, count: int) -> Locator:
    """What says beside the message that it has so many versions."""
    return tab.page.get_by_role("img", name=f"Version {count} of {count}")


async def go_back(tab: Tab, count: int) -> None:
    """To the newest of the older versions, of so many in all."""
    await expect(versions(tab, count)).to_be_visible(timeout=PATIENCE_MS)
    await tab.page.get_by_role("button", name="Previous version").click()
    await tab.page.get_by_role("button", name="Continue from this version").click()


@requirement("F04", "L61")
@pytest.mark.essential
@pytest.mark.ui_item(10)
async def test_an_edited_message_keeps_its_older_version_after_a_reload(tab: Tab) -> None:
    chat_id = await tab.new_chat(RED)
    await answered(tab, chat_id, "red")
    await tab.say(GREEN)
    await expect(saying(tab, "green")).to_be_visible(timeout=PATIENCE_MS)
    await answered(tab, chat_id, "red", "green")
    await edit(tab, 0, BLUE)
    await expect(saying(tab, "blue")).to_be_visible(timeout=PATIENCE_MS)
    await answered(tab, chat_id, "blue")
    await expect(saying(tab, "red")).to_have_count(0)
    await expect(saying(tab, "green")).to_have_count(0)

    await tab.page.reload()
    await answered(tab, chat_id, "blue")
    await go_back(tab, 2)
    await expect(saying(tab, "red")).to_be_visible()
    await answered(tab, chat_id, "red", "green")
    await expect(saying(tab, "blue")).to_have_count(0)

    await tab.page.reload()
    await go_back(tab, 2)
    await expect(saying(tab, "blue")).to_be_visible()
    await answered(tab, chat_id, "blue")


@requirement("F04")
@pytest.mark.ui_item(10)
async def test_an_edit_in_mid_answer_ends_that_answer(tab: Tab) -> None:
    chat_id = await tab.new_chat(SLOW)
    await expect(tab.page.locator("[data-key='m2.0']")).to_be_visible(timeout=PATIENCE_MS)
    await edit(tab, 0, BLUE)
    await expect(saying(tab, "blue")).to_be_visible(timeout=PATIENCE_MS)
    await answered(tab, chat_id, "blue")
    await tab.settled()


@requirement("F04")
@pytest.mark.ui_item(10)
async def test_an_answer_is_made_anew_and_the_first_one_stays(tab: Tab) -> None:
    chat_id = await tab.new_chat("Tell me something.")
    await tab.site.admin.until(chat_id, "idle")
    again = tab.page.get_by_role("button", name="Regenerate")
    await again.click()
    await expect(versions(tab, 2)).to_be_visible()
    chat = await tab.site.admin.until(chat_id, "idle")
    messages = await messages_of(tab.site.admin, chat_id)
    assert [each["role"] for each in messages] == ["user", "assistant"]
    assert messages[0]["parts"][0]["text"] == "Tell me something."
    assert (messages[0]["seq"], chat["last_seq"]) == (3, 4)
    await tab.page.reload()
    await go_back(tab, 2)
    await expect(tab.page.locator("[data-key='m6.0']").or_(again).first).to_be_visible()
    await tab.site.admin.until(chat_id, "idle")


@requirement("F04")
@pytest.mark.ui_item(10)
async def test_an_edit_that_is_begun_survives_a_reload_and_can_be_left(tab: Tab) -> None:
    chat_id = await tab.new_chat(RED)
    await answered(tab, chat_id, "red")
    message = tab.page.locator(".user-message").first
    await message.hover()
    await message.get_by_role("button", name="Edit").click()
    editor = tab.page.get_by_role("form", name="Edit message")
    await editor.get_by_role("textbox").fill("half an idea")
    await tab.page.reload()
    await expect(editor.get_by_role("textbox")).to_have_value("half an idea")
    await editor.get_by_role("button", name="Cancel").click()
    await expect(editor).to_have_count(0)
    await tab.page.reload()
    await answered(tab, chat_id, "red")
    await expect(editor).to_have_count(0)


@requirement("F04")
@pytest.mark.ui_item(10)
async def test_a_version_that_cannot_be_restored_says_why(tab: Tab) -> None:
    chat_id = await tab.new_chat(RED)
    await answered(tab, chat_id, "red")
    await edit(tab, 0, BLUE)
    await expect(saying(tab, "blue")).to_be_visible(timeout=PATIENCE_MS)
    await tab.page.route("**/restore", lambda route: route.fulfill(status=409, body="{}"))
    await go_back(tab, 2)
    await expect(tab.page.get_by_text("The server answered 409.", exact=True)).to_be_visible()
    await answered(tab, chat_id, "blue")


@requirement("F04")
@pytest.mark.ui_item(10)
async def test_a_hundred_switches_between_versions_add_none(tab: Tab) -> None:
    chat_id = await tab.new_chat(RED)
    await answered(tab, chat_id, "red")
    for text, word in ((BLUE, "blue"), (GREEN, "green")):
        await edit(tab, 0, text)
        await expect(saying(tab, word)).to_be_visible(timeout=PATIENCE_MS)
        await answered(tab, chat_id, word)
    before = (await tab.site.admin.get(f"chats/{chat_id}")).json
    await expect(versions(tab, 3)).to_be_visible(timeout=PATIENCE_MS)
    await tab.page.get_by_role("button", name="Previous version").click()

    dialog = tab.page.get_by_role("dialog")
    said = ("red", "blue")
    at = 1
    for n in range(100):
        at = 1 - at if n else 1
        await expect(dialog.get_by_role("heading", name=f"Version {at + 1} of 3")).to_be_visible()
        await expect(dialog.get_by_text(said[at], exact=True)).to_be_visible(timeout=PATIENCE_MS)
        step = "Previous version" if at else "Next version"
        await dialog.get_by_role("button", name=step).click()
    await tab.page.keyboard.press("Escape")
    await expect(versions(tab, 3)).to_be_visible()
    after = (await tab.site.admin.get(f"chats/{chat_id}")).json
    assert (after["version"], after["last_seq"]) == (before["version"], before["last_seq"])

    for word in ("blue", "green", "blue"):  # Copies are no versions of their own.
        await go_back(tab, 3)
        await expect(saying(tab, word)).to_be_visible(timeout=PATIENCE_MS)
        await answered(tab, chat_id, word)
    found = (await tab.site.admin.get(f"chats/{chat_id}/branches")).json["data"]
    assert len(found) == 2
