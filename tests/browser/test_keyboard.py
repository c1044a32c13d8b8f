"""The whole way through the page without a pointer, and where the focus goes on it."""

from collections.abc import AsyncGenerator

import orjson
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from holdfast_simulator.server import Config, running
from tests.support.browser import PATIENCE_MS, Site, Tab, a_site, open_tab
from tests.support.database import temporary_database
from tests.support.identity import PASSWORD
from tests.support.replica import Replicas
from tests.support.web import ADMIN_EMAIL

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(16)]

RULES = {"rules": [{"tool": "clock", "action": "ask"}]}
CALL = '[[sim: call clock {} | then | say "It is late."]]'
STEPS_MAX = 40

FOCUSED = """() => {
  const it = document.activeElement;
  if (it === null || it === document.body) return 'nothing';
  const label = it.getAttribute('aria-label') ?? it.labels?.[0]?.textContent ?? it.innerText;
  const box = it.getBoundingClientRect();
  const seen = box.width > 0 && box.height > 0;
  return `${it.getAttribute('role') ?? it.tagName.toLowerCase()}: ` +
    `${(label ?? '').trim().replace(/\\s+/g, ' ').slice(0, 40)}${seen ? '' : ' (unseen)'}`;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def asking(template: str) -> AsyncGenerator[Site]:
    """A server where the clock may be looked at only with leave."""
    async with (
        temporary_database(template) as url,
        running(Config()) as simulator,
        a_site(Replicas(url, simulator), approvals=orjson.dumps(RULES).decode()) as site,
    ):
        yield site


async def focused(page: Page) -> str:
    return await page.evaluate(FOCUSED)


async def tab_to(page: Page, wanted: str, key: str = "Tab") -> list[str]:
    """The stops on the way to one, it included."""
    stops: list[str] = []
    while len(stops) < STEPS_MAX:
        await page.keyboard.press(key)
        stops.append(await focused(page))
        if wanted in stops[-1]:
            return stops
    pytest.fail(f"{key} never came to {wanted}: {stops}")


async def signs_in(page: Page) -> None:
    """Sign in: the first field has the focus, or is one step away."""
    await page.get_by_label("E-mail").wait_for()
    await tab_to(page, "E-mail")
    await page.keyboard.type(ADMIN_EMAIL)
    await page.keyboard.press("Tab")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await page.locator("[data-composer]").wait_for()


@pytest.mark.essential
async def test_everything_on_the_way_is_done_by_keys(browser: Browser, asking: Site) -> None:
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = await open_tab(context, asking)
    page = tab.page
    await tab.go()
    await signs_in(page)
    await expect(page.locator("[data-composer]")).to_be_focused()

    await page.keyboard.type(CALL)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/chats/*")
    await expect(page.get_by_role("button", name="Approve once")).to_be_visible(timeout=PATIENCE_MS)
    await expect(page.locator("[data-composer]")).to_be_focused()

    await tab_to(page, "Approve once", "Shift+Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("log")).to_contain_text("It is late.", timeout=PATIENCE_MS)
    await tab.settled()

    await opens_a_tool(page)
    await copies_the_answer(page)
    await settings_and_back(page)
    tab.content()
    await context.close()


async def step(page: Page, key: str) -> None:
    """To another row, and until it has the focus."""
    before = await page.evaluate("() => document.activeElement?.dataset.key ?? null")
    await page.keyboard.press(key)
    await page.wait_for_function(
        "before => (document.activeElement?.dataset.key ?? null) !== before", arg=before
    )


async def opens_a_tool(page: Page) -> None:
    """From row to row with K, and Enter opens."""
    await page.get_by_role("log").focus()
    card = page.locator(".tool-card [aria-expanded]")
    for _ in range(8):
        await step(page, "k")
        row = page.locator("article:focus")
        await expect(row).to_have_count(1)
        if await row.locator(".tool-card").count() == 1:
            break
    await page.keyboard.press("Enter")
    await expect(card).to_have_attribute("aria-expanded", "true")
    await page.keyboard.press("Enter")
    await expect(card).to_have_attribute("aria-expanded", "false")


async def copies_the_answer(page: Page) -> None:
    for _ in range(4):
        await step(page, "j")
        if await page.locator("article:focus [data-row-action=copy]").count() == 1:
            break
    await page.keyboard.press("c")
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert await page.evaluate("() => navigator.clipboard.readText()") == "It is late."


async def settings_and_back(page: Page) -> None:
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox")).to_be_focused()
    await page.keyboard.type("settings")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox")).to_be_focused()
    await page.keyboard.type("sim: call clock")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/chats/*")
    await expect(page.locator("[data-composer]")).to_be_focused()


async def test_the_focus_goes_in_the_order_of_what_is_seen(browser: Browser, asking: Site) -> None:
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    tab = await open_tab(context, asking)
    await tab.sign_in()
    await tab.new_chat('[[sim: say "Hello."]]')
    await tab.settled()
    await tab.page.reload()
    await expect(tab.page.get_by_role("log")).to_contain_text("Hello.")
    await tab.page.evaluate("() => document.activeElement.blur()")
    await tab_to(tab.page, "nothing")  # round to the beginning
    stops = await tab_to(tab.page, "textarea")
    assert not [stop for stop in stops if "unseen" in stop or stop == "nothing"]
    assert [name_of(stop) for stop in stops if name_of(stop) is not None] == list(ORDER)
    tab.content()
    await context.close()


ORDER = (
    "button: Skip to the message field",
    "input: Search chat titles",
    'button: [[sim: say "Hello."]]',
    "log: Conversation",
    "textarea: Message",
)


def name_of(stop: str) -> str | None:
    """Those stops of which the order is a promise; between them there may come others."""
    return stop if stop in ORDER else None


async def test_the_skip_link_leads_to_the_message_field(tab: Tab) -> None:
    await tab.new_chat('[[sim: say "Hello."]]')
    await tab.settled()
    await tab.page.reload()
    await expect(tab.page.locator("[data-composer]")).to_be_visible()
    await tab.page.evaluate("() => document.activeElement.blur()")
    assert "Skip to the message field" in (await tab_to(tab.page, "Skip to"))[-1]
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.locator("[data-composer]")).to_be_focused()
    tab.content()


async def test_a_dialog_holds_the_focus_and_gives_it_back(tab: Tab) -> None:
    page = tab.page
    await page.locator("[data-composer]").focus()
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox")).to_be_focused()
    for _ in range(5):
        await page.keyboard.press("Tab")
        assert await page.evaluate("() => document.activeElement.closest('[role=dialog]') !== null")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.locator("[data-composer]")).to_be_focused()
    tab.content()
