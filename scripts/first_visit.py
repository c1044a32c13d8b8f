"""A newcomer's first clicks in a browser: the link of `holdfast dev`, a suggestion, Enter."""

import re
from typing import Final

from playwright.async_api import Page, expect

LINK: Final = re.compile(r"^  open +(\S+#once=\w+)$", re.MULTILINE)
ANSWERS: Final = {
    "What can you do?": "I am a simulator, not a language model.",
    "Write with me": "What is announced, and when does it happen?",
    "Run something": "I am a simulator, but this was real.",
}
"""What a sensible answer to each suggestion of the page says."""
WITHIN_MS: Final = 120_000.0


def link_in(said: str) -> str:
    """Of what `holdfast dev` printed."""
    found = LINK.search(said)
    assert found is not None, said
    return found[1]


async def ask(page: Page, suggestion: str) -> str:
    """Press a suggestion of the empty chat, send it, wait for its answer: the transcript."""
    await page.get_by_role("button", name=suggestion).click(timeout=WITHIN_MS)
    await page.keyboard.press("Enter")
    log = page.get_by_role("log")
    await expect(log).to_contain_text(ANSWERS[suggestion], timeout=WITHIN_MS)
    return await log.inner_text()
