"""An input method's Enter chooses a word; it does not send."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.support.browser import Tab

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(15)]

ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}


@pytest.mark.essential
async def test_enter_while_a_word_is_being_composed_does_not_send(tab: Tab) -> None:
    """A real composition, by Chromium's own input method, and the Enter of its keyboard."""
    page = tab.page
    field = page.locator("[data-composer]")
    await field.focus()
    keyboard: Any = await page.context.new_cdp_session(page)
    for text in ("k", "か", "かい"):
        await keyboard.send(
            "Input.imeSetComposition",
            {"text": text, "selectionStart": len(text), "selectionEnd": len(text)},
        )
    await expect(field).to_have_value("かい")
    # A key that the input method takes for itself: pages are told of it, and it writes nothing.
    await keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **ENTER})
    await keyboard.send("Input.dispatchKeyEvent", {"type": "keyUp", **ENTER})
    await expect(field).to_have_value("かい")
    assert "/chats/" not in page.url, "nothing was sent"
    await keyboard.send("Input.insertText", {"text": "海藻"})
    await enter_of_safari(page)
    await expect(field).to_have_value("海藻")
    assert "/chats/" not in page.url, "the Enter that ended the composition"
    await field.press("Enter")
    await page.wait_for_url("**/chats/*")
    await expect(page.get_by_role("log")).to_contain_text("海藻")
    tab.content()


async def enter_of_safari(page: Page) -> None:
    """The Enter that ends a composition comes after it there, with the code of one."""
    await page.locator("[data-composer]").evaluate(
        """field => field.dispatchEvent(new KeyboardEvent(
          'keydown', { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true }
        ))"""
    )
