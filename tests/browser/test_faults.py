"""What breaks between the page and the model is not the reader's business: nothing is lost, nothing
is doubled, no error is shown, and a bar says so after two seconds."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Request, Route, expect

from holdfast_lab.chaos.harness.ports import quiet_port
from holdfast_lab.chaos.harness.proxy import Line, a_line
from tests.requirements import requirement
from tests.support.browser import PATIENCE_MS, Site, Tab, a_site_of_its_own, open_tab, until
from tests.support.numbered import (
    NUMBERS,
    assert_as_stored,
    counting,
    messages_of,
    numbers_of,
    whole,
    words_of,
)
from tests.support.recording_worker import recording_worker

pytestmark = pytest.mark.asyncio(loop_scope="session")

STREAM = re.compile(r"/chats/chat_[0-9a-f]{32}/events$")
LATE_S = 2.0
"""From here on a reader is told that the connection is away."""
BAR_S = 10.0
"""How much later the bar may be there, on a busy machine."""
CLOCKS_S = 0.01
"""The page's clock tells whole milliseconds, ours more."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def line(template: str) -> AsyncGenerator[tuple[Site, Line]]:
    port = quiet_port()
    async with (
        a_site_of_its_own(template, origins=f"http://127.0.0.1:{port}") as site,
        a_line(site.port, port=port) as line,
    ):
        site.url = line.url
        yield site, line


@pytest.fixture
def site(line: tuple[Site, Line]) -> Site:
    return line[0]


@dataclass
class Streams:
    """The requests of a tab for the events of its chat: those that were sent and those that failed.

    `cursors`: where each went on from."""

    tab: Tab
    cursors: list[str | None] = field(default_factory=list[str | None])
    failures: int = 0

    def __post_init__(self) -> None:
        self.tab.page.on("request", self._asked)
        self.tab.page.on("requestfailed", self._failed)

    def _asked(self, request: Request) -> None:
        if STREAM.search(request.url):
            self.cursors.append(request.headers.get("last-event-id"))

    def _failed(self, request: Request) -> None:
        self.failures += STREAM.search(request.url) is not None

    async def fail(self, times: int) -> None:
        """Until so many more have failed; the page is not left to its growing pauses."""
        most = self.failures + times
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while self.failures < most:
                await try_now(self.tab)
                await asyncio.sleep(0.02)

    async def one_more_than(self, before: int) -> None:
        await until(lambda: len(self.cursors) > before)


async def try_now(tab: Tab) -> None:
    """What a browser tells a page when the network is back: the pause between two tries ends."""
    await tab.page.evaluate("() => { dispatchEvent(new Event('online')); }")


async def more_is_shown(tab: Tab) -> None:
    """The answer grows."""
    shown = len(await numbers_of(tab))
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while len(await numbers_of(tab)) <= shown:
            await try_now(tab)
            await asyncio.sleep(0.05)


def assert_counted(words: list[str]) -> None:
    assert words[:-1] == NUMBERS[: len(words) - 1], "the last may be half a word"


@requirement("F07", "L62")
@pytest.mark.essential
@pytest.mark.ui_item(3)
async def test_five_cuts_by_five_means_lose_and_double_nothing_and_are_no_error(
    tab: Tab, context: BrowserContext, line: tuple[Site, Line]
) -> None:
    site, wire = line
    streams = Streams(tab)
    await tab.watch()
    chat_id = await tab.new_chat(counting(10))  # for longer than all cuts take
    await expect(tab.page.locator("[data-key='m2.0']")).to_contain_text("n005")

    async def offline() -> None:
        await context.set_offline(True)
        wire.cut()  # Chromium ends nothing that stands; a network that goes away does
        await streams.fail(2)  # the one that stood, and one that is tried without a network
        await context.set_offline(False)

    async def aborted() -> None:
        async def abort(route: Route) -> None:
            await route.abort("connectionreset")

        await tab.page.route("**/chats/*/events", abort, times=2)
        wire.cut()

    async def refused() -> None:
        wire.hang_up()
        await streams.fail(2)  # the one that stood, and one that is refused
        wire.mend()

    async def failing() -> None:
        async def fail(route: Route) -> None:
            await route.fulfill(status=503, body="no")

        await tab.page.route("**/chats/*/events", fail, times=1)
        wire.cut()

    async def reset() -> None:
        wire.cut()

    means: list[Callable[[], Awaitable[None]]] = [reset, offline, aborted, refused, failing]
    for mean in means:
        before = len(streams.cursors)
        await mean()
        await streams.one_more_than(before)
        await more_is_shown(tab)
        assert_counted(await numbers_of(tab))
    await site.admin.post(f"chats/{chat_id}/interrupt")
    await whole(tab, chat_id)
    stored = words_of((await messages_of(site.admin, chat_id))[-1])
    assert await numbers_of(tab) == stored
    assert_counted(stored)
    assert len(streams.cursors) > len(means)
    assert None not in streams.cursors[1:], "each goes on after the last event that was seen"
    assert (await tab.seen()).alerts == []


@requirement("F07", "L62")
@pytest.mark.ui_item(3)
async def test_the_bar_comes_after_two_seconds_and_not_before(
    tab: Tab, line: tuple[Site, Line]
) -> None:
    _, wire = line
    await tab.watch()
    chat_id = await tab.new_chat(counting(25))
    await expect(tab.page.locator("[data-key='m2.0']")).to_contain_text("n005")
    cut_at = time.time()
    wire.hang_up()
    # Real time: half of the time after which the bar would be right.
    await asyncio.sleep(LATE_S / 2)
    wire.mend()
    await more_is_shown(tab)
    early = (await tab.seen()).bars
    # None, unless the machine is so slow that the connection was away for longer.
    assert all(each["since"] - cut_at >= LATE_S - CLOCKS_S for each in early), early

    cut_at = time.time()
    wire.hang_up()
    bar = tab.page.get_by_text("your chat continues on the server")
    await expect(bar).to_be_visible()
    shown = (await tab.seen()).bars[-1]
    assert LATE_S - CLOCKS_S <= shown["since"] - cut_at < LATE_S + BAR_S
    wire.mend()
    await tab.page.get_by_role("button", name="Retry now").click()
    await expect(bar).to_have_count(0)
    await whole(tab, chat_id)
    assert await numbers_of(tab) == NUMBERS
    assert (await tab.seen()).alerts == []


@requirement("F07")
@pytest.mark.essential
@pytest.mark.ui_item(3)
async def test_a_server_that_comes_back_goes_on_where_it_was(tab: Tab, site: Site) -> None:
    """A server that stops keeps what was said as a message, and its successor goes on in another:
    all that is stored is shown, once and in order, and all that was shown before is in it."""
    await tab.watch()
    chat_id = await tab.new_chat(counting(100))
    await expect(tab.page.locator("[data-key='m2.0']")).to_contain_text("n020")
    before = await numbers_of(tab)
    await site.down()
    await expect(tab.page.get_by_text("your chat continues on the server")).to_be_visible()
    await site.up()
    await expect(tab.page.get_by_text("your chat continues on the server")).to_have_count(0)
    await whole(tab, chat_id)
    await assert_as_stored(tab, chat_id)
    replies = [m for m in await messages_of(site.admin, chat_id) if m["role"] == "assistant"]
    assert NUMBERS[: len(before)] == before
    assert words_of(replies[0])[: len(before)] == before
    assert (await tab.seen()).alerts == []


async def the_quiet_line_unfolds(tab: Tab, kept: dict[str, Any]) -> None:
    """Between the words of the lost worker and those of its successor."""
    takeover = kept["takeover"]
    assert (takeover["lost_workers"], takeover["kept"], takeover["calls"]) == (1, True, [])
    assert takeover["after_seconds"] > 0
    item = tab.page.locator("[data-key='m2.lost.0']")
    line = item.get_by_role("button", expanded=False)
    await expect(line).to_have_text(
        f"worker lost, continued after {takeover['after_seconds']} s, nothing repeated"
    )
    assert await tab.page.locator("[data-key='m2.0'] ~ [data-key='m2.lost.0']").count() == 1
    await line.click()
    await expect(item.get_by_role("listitem")).to_have_count(2)
    await expect(item.get_by_role("button", expanded=True)).to_be_visible()


@requirement("F07", "L69", "L153")
@pytest.mark.ui_item(3)
async def test_a_worker_that_is_killed_is_replaced_and_nobody_sees_an_error(
    template: str, context: BrowserContext
) -> None:
    async with (
        a_site_of_its_own(template, role="api") as apart,
        recording_worker(apart.replicas, "http://127.0.0.1:1") as first,
    ):
        tab = await open_tab(context, apart)
        await tab.sign_in()
        await tab.watch()
        chat_id = await tab.new_chat(counting(100))
        await expect(tab.page.locator("[data-key='m2.0']")).to_contain_text("n050")
        first.kill()
        shown = (await numbers_of(tab))[:-1]  # the last one may be cut within
        async with recording_worker(apart.replicas, "http://127.0.0.1:1"):
            await whole(tab, chat_id)
            await assert_as_stored(tab, chat_id)
            stored = await messages_of(apart.admin, chat_id)
            replies = [message for message in stored if message["role"] == "assistant"]
            told = "".join(part["text"] for reply in replies for part in reply["parts"])
            assert told.split() == NUMBERS, "no word is lost, and none is told twice"
            assert words_of(replies[0])[: len(shown)] == shown, "the answer goes on from there"
            seen = await tab.seen()
            assert (seen.bars, seen.alerts) == ([], []), "the page's own connection was never away"
            await the_quiet_line_unfolds(tab, replies[0])
        tab.content()
