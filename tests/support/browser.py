"""Debian's Chromium before a real server: the page as a person has it."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from holdfast.api.ui_files import STATIC
from holdfast_lab.chaos.harness.ports import quiet_port
from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.identity import PASSWORD
from tests.support.replica import Replicas
from tests.support.web import ADMIN_EMAIL, Cell, Client, a_cell, on_socket

CHROMIUM: Final = os.environ.get("HOLDFAST_CHROMIUM", "/usr/bin/chromium")
PATIENCE_MS: Final = 60_000
"""A guard against hangs, for every wait on the page; no test is about this time."""
LIFE_S: Final = 1800.0
"""A site serves all tests of a file."""
expect.set_options(timeout=PATIENCE_MS)  # by default 5 s, whatever the page's own timeout is
TELL_VIOLATIONS: Final = """
addEventListener("securitypolicyviolation", (event) => console.error(
  `against the policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`));
"""
"""What the content security policy refuses becomes a complaint of the tab, whoever asked for it."""


def why_no_browser() -> str | None:
    """What is missing for these tests; None: nothing."""
    if shutil.which(CHROMIUM) is None:
        return f"no browser at {CHROMIUM}: install the package chromium, or set HOLDFAST_CHROMIUM"
    if not (STATIC / "index.html").is_file():
        return "the page is not built: run `just ui`"
    return None


WATCH: Final = """
(() => {
  const seen = (window.seen = { bars: [], alerts: [], most: {} });
  const textsOf = (selector) =>
    [...document.querySelectorAll(selector)].map((each) => each.textContent.trim());
  const look = () => {
    const bar = textsOf("[role=status]").some((text) => text.includes("continues on the server"));
    const last = seen.bars.at(-1);
    if (bar && last?.to !== null) seen.bars.push({ since: Date.now() / 1000, to: null });
    if (!bar && last?.to === null) last.to = Date.now() / 1000;
    for (const text of textsOf("[role=alert]"))
      if (text !== "" && !seen.alerts.includes(text)) seen.alerts.push(text);
    const count = {};
    for (const text of textsOf("[role=log] .user-message .rounded-card"))
      count[text] = (count[text] ?? 0) + 1;
    for (const [text, often] of Object.entries(count))
      seen.most[text] = Math.max(often, seen.most[text] ?? 0);
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true,
    characterData: true });
})();
"""


AT_REST: Final = ("idle", "awaiting", "failed")
"""Statuses in which no turn runs."""


async def until(is_so: Callable[[], bool]) -> None:
    """Poll a condition of this process, such as a list that an event handler fills."""
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@dataclass(frozen=True)
class Seen:
    """What a tab showed, if only for a moment."""

    bars: list[dict[str, float]]
    """When the bar that says that the connection is away came and went, in seconds."""
    alerts: list[str]
    most: dict[str, int]
    """How many rows at once said the same, of those that people say."""


@dataclass
class Site:
    """A server on one port that can go away and come back, and an admin who may sign in."""

    replicas: Replicas
    port: int
    admin: Client
    _up: AsyncExitStack | None
    url: str
    """What a browser goes to."""
    settings: Mapping[str, Any]
    tabs: "list[Tab]" = field(default_factory=list["Tab"])
    """All that were opened by the test that runs."""

    def content(self) -> None:
        """No tab of this test had anything to complain of."""
        tabs, self.tabs[:] = list(self.tabs), []
        for tab in tabs:
            tab.content()

    async def down(self) -> None:
        assert self._up is not None
        await self._up.aclose()
        self._up = None

    async def up(self) -> None:
        self._up = AsyncExitStack()
        await self._up.enter_async_context(
            on_socket(self.replicas, port=self.port, within_s=LIFE_S, **self.settings)
        )

    async def close(self) -> None:
        if self._up is not None:
            await self.down()


@asynccontextmanager
async def a_site(replicas: Replicas, **settings: Any) -> AsyncGenerator[Site]:
    port = quiet_port()
    url = f"http://127.0.0.1:{port}"
    up = AsyncExitStack()
    cell: Cell = await up.enter_async_context(
        a_cell(replicas, port=port, within_s=LIFE_S, **settings)
    )
    # A new connection for each request: one that rests may be closed when the next is sent. The
    # session lives on while the server is away.
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector) as http:
        admin = Client(http, url, cell.admin.headers)
        site = Site(replicas, port, admin, up, url, settings)
        try:
            yield site
        finally:
            await site.close()


@asynccontextmanager
async def a_site_of_its_own(template: str, **settings: Any) -> AsyncGenerator[Site]:
    """With a database and a simulator that nobody else has."""
    async with (
        temporary_database(template) as url,
        running(Config(hang_max_s=20)) as simulator,
        a_site(Replicas(url, simulator), **settings) as site,
    ):
        yield site


@dataclass
class Tab:
    """A page, and whatever the browser had to say about it."""

    page: Page
    site: Site
    complaints: list[str] = field(default_factory=list[str])
    foreign: list[str] = field(default_factory=list[str])
    """Requests that left our origin."""
    excused: str = "nothing is excused"
    """Complaints with these words are what the test is about."""

    async def go(self, path: str = "/") -> None:
        await self.page.goto(self.site.url + path)

    async def sign_in(self) -> None:
        await self.go()
        await self.enter()

    async def enter(self) -> None:
        """From the page that asks who it is."""
        await self.page.get_by_label("E-mail").fill(ADMIN_EMAIL)
        await self.page.get_by_label("Password").fill(PASSWORD)
        await self.page.get_by_role("button", name="Sign in").click()
        await expect(self.page.locator("[data-composer]")).to_be_visible()

    async def say(self, text: str) -> None:
        field = self.page.locator("[data-composer]")
        await field.fill(text)
        await field.press("Enter")

    async def new_chat(self, text: str) -> str:
        """Its id, once its address is there."""
        await self.page.keyboard.press("Control+Shift+O")
        await self.page.wait_for_url(lambda url: "/chats/" not in url)
        await self.say(text)
        await self.page.wait_for_url("**/chats/*")
        return self.page.url.rsplit("/", 1)[1]

    async def settled(self) -> None:
        """Until the turn is over, on the server and as the page shows it."""
        if "/chats/" in self.page.url:
            chat_id = self.page.url.rsplit("/", 1)[1]
            await self.site.admin.until(chat_id, *AT_REST, within_s=PATIENCE_MS / 1000)
        await expect(self.page.get_by_role("log").first).to_be_visible(timeout=PATIENCE_MS)
        stop = self.page.get_by_role("button", name="Stop")
        await expect(stop).to_have_count(0, timeout=PATIENCE_MS)

    async def watch(self) -> None:
        """From now on, remember what was on the screen if only for a moment, see `seen`."""
        await self.page.add_init_script(WATCH)
        await self.page.evaluate(WATCH)

    async def seen(self) -> "Seen":
        """Since the page was loaded, or since `watch`."""
        return Seen(**await self.page.evaluate("() => window.seen"))

    async def shown(self) -> str:
        """The text of the transcript."""
        return await self.page.get_by_role("log").inner_text()

    def asked(self, url: str) -> None:
        if not url.startswith((f"{self.site.url}/", "data:", "blob:")):
            self.foreign.append(url)

    def content(self) -> None:
        left = [each for each in self.complaints if self.excused not in each]
        assert left == [], "\n".join(left)
        assert self.foreign == []


async def open_tab(context: BrowserContext, site: Site) -> Tab:
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    tab = Tab(page, site)
    site.tabs.append(tab)
    await page.add_init_script(TELL_VIOLATIONS)
    page.on(
        "console",
        lambda said: (
            tab.complaints.append(said.text)
            if said.type == "error" and not _expected(said.text)
            else None
        ),
    )
    page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    page.on("request", lambda asked: tab.asked(asked.url))
    page.on("websocket", lambda opened: tab.asked(opened.url.replace("ws", "http", 1)))
    return tab


def _expected(text: str) -> bool:
    """Chromium complains of every request that fails; those are ours to handle, and handled."""
    return any(
        words in text
        for words in (
            *("Failed to load resource", "net::ERR_", "before receiving a handshake"),
            "Unexpected response code: 503",  # a server that stops refuses a WebSocket
        )
    )


@asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            # Without a GPU, Debian's wrapper would have one emulated: half of the CPU of a run.
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        try:
            yield browser
        finally:
            async with asyncio.timeout(PATIENCE_MS / 1000):
                await browser.close()
