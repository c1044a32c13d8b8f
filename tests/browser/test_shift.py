"""Over a whole turn nothing on the page is pushed about."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.support.browser import PATIENCE_MS, Tab
from tests.support.reading import settle, shifted

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(12)]

SHIFT_MAX = 0.005
"""What rounds to 0.00."""
TURN = (
    '[[sim: think "Let me see what the clock says, and then think about it for a while." '
    '| call clock {} | then | say "It is late.\\n\\n```python\\nprint(1)\\n```\\n\\n| a | b |'
    "\\n| - | - |\\n| 1 | 2 |\\n\\nAnd so on, for some words more, and then the end."
    '" | rate=40]]'
)


def told(shifts: list[dict[str, Any]]) -> str:
    """Each shift in lines of its own: what is left out in the middle is what one looks for."""
    return "\n".join(f"{each['value']:.5f} {moved}" for each in shifts for moved in each["moved"])


async def whole_turn(tab: Tab) -> None:
    await tab.settled()
    await expect(tab.page.get_by_role("log").last).to_contain_text(
        "and then the end.", timeout=PATIENCE_MS
    )


async def test_nothing_shifts_from_the_start_of_a_turn_to_its_commit(tab: Tab) -> None:
    """Also with a history that fills the window, where the transcript scrolls as it grows."""
    await tab.new_chat(TURN)
    await tab.settled()
    for _ in range(3):
        field = tab.page.locator("[data-composer]")
        await field.fill(TURN)
        await settle(tab.page)  # the field has grown with the text, which no press excuses
        async with shifted(tab.page) as shifts:
            await field.press("Enter")
            await expect(tab.page.get_by_role("button", name="Stop")).to_be_visible()
            await whole_turn(tab)
        assert sum(each["value"] for each in shifts) < SHIFT_MAX, told(shifts)
    tab.content()


async def test_nothing_shifts_for_who_only_looks_on(tab: Tab) -> None:
    """Nothing that happens is excused as the answer to a press."""
    chat_id = await tab.new_chat('[[sim: say "Hello."]]')
    await tab.settled()
    async with shifted(tab.page) as shifts:
        sent = await tab.site.admin.post(f"chats/{chat_id}/messages", {"text": TURN})
        assert sent.status == 202
        await expect(tab.page.get_by_role("button", name="Stop")).to_be_visible()
        await whole_turn(tab)
    assert sum(each["value"] for each in shifts) < SHIFT_MAX, told(shifts)
    tab.content()
