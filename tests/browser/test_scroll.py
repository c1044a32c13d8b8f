"""The line that somebody reads stays where it is, whatever happens around it."""

import asyncio
import re

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from tests.support.browser import PATIENCE_MS, Site, Tab, open_tab
from tests.support.reading import LAYOUT_UNIT_PX, from_end, look_back, reading, settle

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(11)]

STEPS = 30
TIDE = "The tide comes in `twice a day` and *nobody* asked **it** to. "
PROSE = "\\n\\n".join(
    (TIDE * 14, "### Ebb", TIDE * 14, f"- {TIDE * 3}\\n- `Low` water.", TIDE * 14)
)
"""Whatever may be laid out in fractions of a pixel: other letters, margins in ems, lists."""
SLOW = "[[sim: words=600 | rate=120]]"


def many_steps() -> str:
    """A turn that says something and looks at the clock, again and again."""
    step = f'say "{PROSE}\\n\\n![a kelp](https://pictures.example/kelp.png)" | call clock {{}}'
    return f'[[sim: {" | then | ".join([step] * STEPS)} | then | say "done"]]'


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def long_chat(site: Site) -> str:
    """Longer than what a page is told at once: what is older must be asked for."""
    return await a_chat(site, many_steps(), many_steps())


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def busy_chat(site: Site) -> str:
    """For those who say more in it."""
    return await a_chat(site, many_steps())


async def a_chat(site: Site, first: str, *more: str) -> str:
    chat_id = await site.admin.new_chat(first)
    await site.admin.until(chat_id, "idle", within_s=60)
    for text in more:
        assert (await site.admin.post(f"chats/{chat_id}/messages", {"text": text})).status == 202
        await site.admin.until(chat_id, "idle", within_s=60)
    return chat_id


async def opened(tab: Tab, chat_id: str) -> Page:
    await tab.go(f"/chats/{chat_id}")
    await tab.page.get_by_role("log").get_by_role("article").last.wait_for()
    await settle(tab.page)
    return tab.page


async def running(tab: Tab) -> Page:
    """Something is being said, and the transcript follows it."""
    await tab.say(SLOW)
    stop = tab.page.get_by_role("button", name="Stop")
    await expect(stop).to_be_visible(timeout=PATIENCE_MS)
    foot = tab.page.locator("article").last
    await foot.wait_for()
    await tab.page.wait_for_function(
        "() => document.querySelector('[role=log]').textContent.length > 3000"
    )
    return tab.page


@pytest.mark.essential
async def test_a_chat_opens_at_its_end(tab: Tab, long_chat: str) -> None:
    page = await opened(tab, long_chat)
    assert await from_end(page) < LAYOUT_UNIT_PX
    tab.content()


async def test_the_end_is_held_when_the_window_becomes_lower(tab: Tab, long_chat: str) -> None:
    """In a chat at rest: words that come would bring the end back by themselves."""
    page = await opened(tab, long_chat)
    for height in (800, 560, 800, 560):
        await page.set_viewport_size({"width": 1280, "height": height})
        await settle(page)
        assert await from_end(page) < LAYOUT_UNIT_PX
    tab.content()


async def test_the_end_is_held_while_it_is_followed(tab: Tab, busy_chat: str) -> None:
    page = await opened(tab, busy_chat)
    await running(tab)
    for height in (800, 560, 800):
        await page.set_viewport_size({"width": 1280, "height": height})
        await settle(page, frames=2)
        assert await from_end(page) < LAYOUT_UNIT_PX
    await tab.settled()
    await settle(page)
    assert await from_end(page) < LAYOUT_UNIT_PX
    tab.content()


@pytest.mark.parametrize("back", [40, pytest.param(1500, marks=pytest.mark.essential)])
async def test_who_reads_is_not_moved_by_what_is_said_nor_by_its_end(
    tab: Tab, busy_chat: str, back: int
) -> None:
    page = await opened(tab, busy_chat)
    await running(tab)
    await look_back(page, back)
    async with reading(page) as line:
        await tab.settled()
    assert line.far < LAYOUT_UNIT_PX
    assert await from_end(page) > 10, "completion never scrolls"
    await page.get_by_role("button", name="Jump to latest").click()
    await settle(page)
    assert await from_end(page) < LAYOUT_UNIT_PX
    tab.content()


async def test_older_messages_that_come_above_move_nothing(tab: Tab, long_chat: str) -> None:
    page = await opened(tab, long_chat)
    before = int(await page.locator("article").last.get_attribute("aria-setsize") or 0)
    asked: asyncio.Future[Route] = asyncio.get_running_loop().create_future()

    def hold(route: Route) -> None:
        asked.set_result(route)

    await page.route("**/messages?before_seq=*", hold, times=1)
    await page.get_by_role("log").focus()
    await page.keyboard.press("Home")
    async with asyncio.timeout(PATIENCE_MS / 1000):
        held = await asked
    await settle(page)
    async with reading(page) as line:
        await held.continue_()
        first = page.locator("article").first
        await expect(first).not_to_have_attribute("aria-setsize", str(before), timeout=PATIENCE_MS)
        assert int(await first.get_attribute("aria-setsize") or 0) > before
    assert line.far < LAYOUT_UNIT_PX
    tab.content()


async def above_sight(page: Page, inner: str) -> str:
    """The key of the lowest row above what is seen that has such an element."""
    # The rows above come in a moment after the page was scrolled.
    found = await page.wait_for_function(
        """inner => {
          const top = document.querySelector('[role=log]').getBoundingClientRect().top;
          return [...document.querySelectorAll('article')]
            .map(each => ({ each, at: each.getBoundingClientRect() }))
            .filter(({ each, at }) => at.bottom <= top && each.querySelector(inner) !== null)
            .sort((a, b) => b.at.bottom - a.at.bottom)[0]?.each.dataset.key ?? null;
        }""",
        arg=inner,
    )
    key = await found.json_value()
    assert key is not None, f"no {inner} above what is seen"
    return key


async def press(page: Page, key: str, inner: str) -> None:
    """Without a pointer, which would bring the row into sight."""
    await page.evaluate(
        "([key, inner]) => document.querySelector(`[data-key='${key}'] ${inner}`).click()",
        [key, inner],
    )


async def test_what_is_opened_and_closed_above_the_eyes_moves_nothing(
    tab: Tab, long_chat: str
) -> None:
    page = await opened(tab, long_chat)
    await look_back(page, 2500)
    opener = ".tool-card [aria-expanded]"
    row = await above_sight(page, opener)
    for _ in range(2):
        async with reading(page) as line:
            await press(page, row, opener)
        assert line.far < LAYOUT_UNIT_PX
    tab.content()


async def test_a_picture_that_loads_above_the_eyes_moves_nothing(tab: Tab, long_chat: str) -> None:
    """The page loads no pictures of others. One of its own would make a row higher like this."""
    page = await opened(tab, long_chat)
    await look_back(page, 2500)
    row = await above_sight(page, ".markdown")
    async with reading(page) as line:
        await page.evaluate(
            """key => {
              const picture = document.createElement('div');
              picture.style.height = '240px';
              document.querySelector(`[data-key='${key}'] .markdown`).append(picture);
            }""",
            row,
        )
    assert line.far < LAYOUT_UNIT_PX
    assert tab.foreign == []
    tab.content()


async def test_letters_that_come_late_move_nothing(
    browser: Browser, site: Site, long_chat: str
) -> None:
    """They wait until the page is loaded anew, and do not take the place of what is read."""
    context = await browser.new_context(viewport={"width": 700, "height": 800})
    tab = await open_tab(context, site)
    held: list[Route] = []
    page = tab.page

    async def hold(route: Route) -> None:
        held.append(route)

    await tab.sign_in()
    await page.route(re.compile(r"\.woff2$"), hold)
    await page.goto(f"{site.url}/chats/{long_chat}", wait_until="commit")
    await page.get_by_role("log").get_by_role("article").last.wait_for()
    await look_back(page, 2500)
    wide = "() => document.querySelector('h1').firstChild.getBoundingClientRect().width"
    before = await page.evaluate(wide)
    async with reading(page) as line:
        for each in held:
            await each.continue_()
        await page.evaluate("async () => { await document.fonts.ready; }")
    assert held
    assert line.far < LAYOUT_UNIT_PX
    assert await page.evaluate(wide) == before
    await page.unroute_all()
    await opened(tab, long_chat)
    assert await page.evaluate(wide) != before, "the letters are others now"
    tab.content()
    await context.close()


WIDTH_OF_TEXT = "() => document.querySelector('[role=log] .markdown').clientWidth"


@pytest.mark.parametrize("column", ["column", "full"])
async def test_the_list_beside_the_chat_comes_and_goes_without_moving_the_line(
    tab: Tab, long_chat: str, column: str
) -> None:
    """Also where the text becomes as wide as there is room, and all of its lines are others."""
    await tab.page.evaluate(
        """width => {
          const kept = { state: { width }, version: 0 };
          localStorage.setItem('holdfast.preferences', JSON.stringify(kept));
        }""",
        column,
    )
    page = await opened(tab, long_chat)
    await look_back(page, 2500)
    for _ in range(2):
        before = await page.evaluate(WIDTH_OF_TEXT)
        async with reading(page) as line:
            await page.keyboard.press("Control+b")
        assert (await page.evaluate(WIDTH_OF_TEXT) != before) == (column == "full")
        assert line.far < LAYOUT_UNIT_PX
    tab.content()


async def test_a_window_of_another_size_does_not_move_the_line(tab: Tab, long_chat: str) -> None:
    page = await opened(tab, long_chat)
    await look_back(page, 2500)
    for width, height in ((1280, 600), (900, 600), (500, 700), (1280, 800)):
        async with reading(page) as line:
            await page.set_viewport_size({"width": width, "height": height})
        assert line.far < LAYOUT_UNIT_PX, f"{width} x {height}"
    tab.content()
