"""Every page in every look: axe finds nothing serious, and nothing is cut off."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import orjson
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from holdfast_simulator.server import Config, running
from tests.support.axe import cut_off, grave_of
from tests.support.browser import PATIENCE_MS, Site, Tab, a_site, open_tab
from tests.support.database import temporary_database
from tests.support.replica import Replicas

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(17)]

RULES = {"rules": [{"tool": "clock", "action": "ask"}]}
RICH = (
    '[[sim: think "Let me see." | say "## Plan\\n\\nSee `tenure.py` and [a page](https://a.example)'
    "\\n\\n1. One\\n2. Two\\n\\n```python\\nprint(1)  # late\\n```\\n\\n"
    "| a | b |\\n| - | - |\\n| 1 | 2 |"
    '\\n\\n- [x] done\\n\\n> quoted\\n\\n![kelp](https://pictures.example/k.png)"]]'
)
NOWHERE = "/chats/chat_01890000000070008000000000000000"
ADMIN_SECTIONS = ("overview", "people", "models", "settings", "rules", "templates", "audit")
"""Those of ui/src/features/admin/sections.ts."""


@dataclass(frozen=True)
class States:
    """Chats, each of which stands in another way."""

    said: str
    asks: str
    failed: str
    archived: str


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stood(template: str) -> AsyncGenerator[tuple[Site, States]]:
    async with (
        temporary_database(template) as url,
        running(Config(hang_max_s=60)) as simulator,
        a_site(Replicas(url, simulator), approvals=orjson.dumps(RULES).decode()) as site,
    ):
        admin = site.admin
        said = await admin.new_chat(RICH)
        asks = await admin.new_chat('[[sim: call clock {} | then | say "late"]]')
        failed = await admin.new_chat("[[sim: fault=401]]")
        archived = await admin.new_chat('[[sim: say "Over."]]')
        for chat_id, status in ((said, "idle"), (asks, "awaiting"), (failed, "failed")):
            await admin.until(chat_id, status)
            title = {"title": f"A chat that is {status}, under a name that is rather long"}
            await admin.ask("PATCH", f"chats/{chat_id}", title)
        await admin.until(archived, "idle")
        await admin.post(f"chats/{archived}/archive")
        yield site, States(said, asks, failed, archived)


@dataclass
class Look:
    """One tab, and what was found wrong on its way."""

    tab: Tab
    wrong: list[str]

    async def at(self, name: str) -> None:
        page = self.tab.page
        await page.evaluate("() => document.fonts.ready.then(() => true)")
        self.wrong += [f"{name}: {each}" for each in await grave_of(page)]
        self.wrong += [f"{name}: {each}" for each in await cut_off(page)]


Theme = Literal["light", "dark"]


PARTS = ("around", "chats", "running", "floating")
ESSENTIAL_LOOKS = {
    ("light", 1280, "chats"),
    ("dark", 390, "chats"),
    ("dark", 1280, "around"),
    ("light", 390, "running"),
}
LOOKS = [
    pytest.param(*look, marks=[pytest.mark.essential] if look in ESSENTIAL_LOOKS else [])
    for look in product(("light", "dark"), (390, 820, 1280), PARTS)
]


@pytest.mark.parametrize(("theme", "width", "part"), LOOKS)
async def test_axe_finds_nothing_serious_and_nothing_is_cut_off(
    browser: Browser, stood: tuple[Site, States], theme: Theme, width: int, part: str
) -> None:
    site, states = stood
    touch: dict[str, Any] = {"has_touch": True, "is_mobile": True} if width < 600 else {}
    context = await browser.new_context(
        viewport={"width": width, "height": 844},
        color_scheme=theme,
        reduced_motion="reduce",
        **touch,
    )
    look = Look(await open_tab(context, site), [])
    if part == "around":
        await around(look)
    else:
        await look.tab.sign_in()
    if part == "chats":
        await chats(look, states)
    elif part == "running":
        await a_turn(look)
    elif part == "floating":
        await what_floats(look, states, width)
    assert look.wrong == []
    look.tab.content()
    await context.close()


async def around(look: Look) -> None:
    """The pages beside the chats."""
    tab, page = look.tab, look.tab.page
    await tab.go()
    await page.get_by_role("button", name="Sign in").wait_for()
    await look.at("sign in")
    await page.get_by_label("E-mail").fill("ada@acme.example")
    await page.get_by_label("Password").fill("wrong")
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("alert").wait_for()
    await look.at("sign in, refused")
    await tab.enter()
    await look.at("new chat")
    await tab.go("/settings/models")
    await page.get_by_role("cell", name="sim").wait_for()
    await look.at("settings")
    await tab.go("/settings/api-keys")
    await page.get_by_label("Key name").fill("a program")
    await page.get_by_role("button", name="Create key").click()
    await page.get_by_role("button", name="Revoke a program").first.click()
    await page.get_by_role("alertdialog").wait_for()
    await look.at("revoking a key")
    for section in ADMIN_SECTIONS:
        await tab.go(f"/admin/{section}")
        await page.get_by_role("main").get_by_role("heading", level=2).first.wait_for()
        await look.at(f"administration, {section}")
    await tab.go("/no/such/page")
    await page.get_by_text("Page not found").wait_for()
    await look.at("no such page")
    await tab.go(NOWHERE)
    await page.get_by_text("Chat not found").wait_for()
    await look.at("no such chat")


async def chats(look: Look, states: States) -> None:
    """Chats as they stand."""
    tab, page = look.tab, look.tab.page
    waits: dict[str, tuple[str, Callable[[], Awaitable[Any]]]] = {
        "said": (states.said, page.get_by_role("log").get_by_text("quoted", exact=True).wait_for),
        "asks": (states.asks, page.get_by_role("button", name="Approve once").wait_for),
        "failed": (states.failed, page.get_by_role("button", name="Retry").first.wait_for),
        "archived": (states.archived, page.get_by_text("This chat is archived").wait_for),
    }
    for name, (chat_id, is_there) in waits.items():
        await tab.go(f"/chats/{chat_id}")
        await is_there()
        await look.at(name)


async def a_turn(look: Look) -> None:
    tab, page = look.tab, look.tab.page
    await page.locator("[data-composer]").fill("[[sim: words=4000 | rate=15]]")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("button", name="Stop")).to_be_visible(timeout=PATIENCE_MS)
    await page.locator("[data-composer]").fill("And then this.")
    await page.get_by_role("button", name="Queue").click()
    await page.get_by_role("region", name="Queue").wait_for()
    await look.at("running, with a queue")
    await page.get_by_role("button", name="Stop").click()
    await tab.settled()
    await look.at("stopped")


async def what_floats(look: Look, states: States, width: int) -> None:
    tab, page = look.tab, look.tab.page
    await tab.go(f"/chats/{states.said}")
    await page.get_by_role("main").get_by_role("button", name=re.compile("^More for")).click()
    await page.get_by_role("menu").wait_for()
    await look.at("menu of a chat")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox").wait_for()
    await look.at("palette")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.evaluate("() => document.activeElement.blur()")
    await page.keyboard.press("?")
    await page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    await look.at("shortcuts")
    await page.keyboard.press("Escape")
    if width < 1000:
        await page.get_by_role("button", name="Show chats").click()
        await page.get_by_role("navigation", name="Chats").wait_for()
        await look.at("list in a drawer")


ASKED = (
    '[[sim: think "Let me look at the clock." | call clock {} | then |'
    ' say "It is late, said the clock." | rate=2]]'
)


@pytest.mark.essential
async def test_a_screen_reader_is_told_of_a_turn_and_never_of_its_words(
    browser: Browser, stood: tuple[Site, States]
) -> None:
    """The sequence of texts in the region that speaks."""
    site, _ = stood
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    tab = await open_tab(context, site)
    await tab.sign_in()
    page = tab.page
    await tab.new_chat('[[sim: say "Hello."]]')
    await tab.settled()
    await page.evaluate(
        """() => {
          globalThis.told = [];
          let before = [];  // what stands there until the turn begins
          const look = () => {
            for (const each of document.querySelectorAll('main [aria-live]:not([aria-live=off])')) {
              const said = `${each.getAttribute('role')}: ${each.textContent}`;
              if (each.textContent !== '' && ![...before, ...told].includes(said)) told.push(said);
            }
          };
          look();
          before = told.splice(0);
          const all = { subtree: true, childList: true, characterData: true };
          new MutationObserver(look).observe(document.querySelector('main'), all);
        }"""
    )
    await tab.say(ASKED)
    await page.get_by_role("button", name="Approve once").click(timeout=PATIENCE_MS)
    await tab.settled()
    await expect(page.get_by_role("status").first).to_contain_text("Finished")
    assert await page.evaluate("() => told") == [
        "status: Agent started",
        "alert: Needs your input: Wants to check the time, needs your input",
        "status: Finished, 1 step. It is late, said the clock.",
    ]
    assert await page.get_by_role("log").get_attribute("aria-live") == "off"
    tab.content()
    await context.close()
