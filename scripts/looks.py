"""The looks that pictures of the page are taken in: light, dark, and a phone."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, BrowserContext, ViewportSize

from tests.support.browser import Tab

DESK: Final[ViewportSize] = {"width": 1200, "height": 760}
PHONE: Final[ViewportSize] = {"width": 390, "height": 780}
LOOKS: Final = (("light", "light", DESK), ("dark", "dark", DESK), ("phone", "light", PHONE))


@dataclass(frozen=True)
class Look:
    name: str
    theme: str
    size: ViewportSize
    folder: Path

    @property
    def is_phone(self) -> bool:
        return self.name == "phone"

    async def context(self, browser: Browser) -> BrowserContext:
        return await browser.new_context(
            viewport=self.size,
            color_scheme="dark" if self.theme == "dark" else "light",
            has_touch=self.is_phone,
            locale="en-GB",
        )

    async def take(self, tab: Tab, what: str) -> None:
        await asyncio.sleep(0.7)  # fonts, and what is told a moment later
        path = self.folder / f"{what}-{self.name}.png"
        await tab.page.screenshot(path=path, animations="disabled", caret="hide")
