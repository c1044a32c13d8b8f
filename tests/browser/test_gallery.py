"""Every state of every component: nothing is cut off, nothing overlaps, axe finds nothing grave.

Not by comparing pictures: another Chromium draws letters otherwise, and a picture fails without
a fault. What a picture would show is asked for instead: is anything outside the window, is any text
clipped, does anything lie upon something else.
"""

from collections.abc import AsyncGenerator
from itertools import product
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.support.axe import cut_off, grave_of
from tests.support.browser import Site, a_site_of_its_own, open_tab
from tests.support.built import page_with_gallery

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(18)]

LOOKS = [
    pytest.param(
        theme,
        density,
        width,
        marks=[pytest.mark.essential] if (theme, width) == ("dark", 390) else [],
    )
    for width, (theme, density) in product(
        (390, 820, 1280),
        (("light", "comfortable"), ("dark", "comfortable"), ("light", "compact")),
    )
]
GROUPS = 6
STATES_MIN = 47

OVERLAPS = """() => {
  const found = [];
  const states = [...document.querySelectorAll('[data-state][class~="group/row"]')];
  for (const [at, one] of states.entries()) {
    const next = states[at + 1];
    if (next === undefined || !one.parentElement.contains(next)) continue;
    const [a, b] = [one.getBoundingClientRect(), next.getBoundingClientRect()];
    if (a.bottom > b.top + 1) found.push(`${one.dataset.state} / ${next.dataset.state}`);
    if (a.height < 12) found.push(`empty: ${one.dataset.state}`);
  }
  return found;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(template: str) -> AsyncGenerator[Site]:
    async with page_with_gallery(), a_site_of_its_own(template) as site:
        yield site


@pytest.mark.parametrize(("theme", "density", "width"), LOOKS)
async def test_no_state_of_any_part_is_cut_off_or_unreadable(
    browser: Browser, site: Site, theme: str, density: str, width: int
) -> None:
    touch: dict[str, Any] = {"has_touch": True, "is_mobile": True} if width < 600 else {}
    context = await browser.new_context(
        viewport={"width": width, "height": 900}, reduced_motion="reduce", **touch
    )
    tab = await open_tab(context, site)
    await tab.sign_in()
    await tab.go(f"/dev/gallery?theme={theme}&density={density}")
    page = tab.page
    await page.locator("[data-group=Transcript] article").first.wait_for()
    assert await page.locator("html").get_attribute("data-theme") == theme
    assert await page.locator("[data-group]").count() == GROUPS
    assert await page.locator("[data-state][class~='group/row']").count() >= STATES_MIN
    assert await cut_off(page) == []
    assert await page.evaluate(OVERLAPS) == []
    assert await grave_of(page) == []
    tab.content()
    await context.close()
