"""The measures of the page's performance budget, each a small play before the probe.

`tests/browser/test_budget.py` asks for those that a busy machine does not change; `just bench-ui`
for all of them, at full speed and with a quarter of it.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import median
from typing import Final

import orjson
from playwright.async_api import Browser, Request

from holdfast_lab.chaos.harness.folders import short_folder
from holdfast_lab.chaos.harness.simulator import simulator_process
from tests.support.browser import PATIENCE_MS, Site, Tab, a_site, open_tab
from tests.support.database import temporary_database
from tests.support.probe import LEAST_TOLD_MS, Probe, Seen, probed
from tests.support.reading import settle
from tests.support.replica import Elsewhere, Replicas
from tests.support.seeded import Seeding, last_row, long_markdown, seeding

STORY: Final = "Tell me everything that you have found"
"""A prompt whose answer is more than 60 KB."""
STORY_BYTES: Final = 64_000
SMALL: Final = (2_000, 10_000)
LARGE: Final = (44_000, 52_000)
"""Where the cost of a chunk is looked at, in characters on the screen: 6 for 7 that are said."""
STRETCHES: Final = 5
CALM_FRAMES: Final = 90
"""A second and a half, where frames come as they should."""
_AT_REST: Final = """async frames => {
  let calm = 0;
  const observer = new MutationObserver(() => { calm = 0; });
  const all = { subtree: true, childList: true, characterData: true, attributes: true };
  observer.observe(document.body, all);
  for (; calm < frames; calm++) await new Promise(requestAnimationFrame);
  observer.disconnect();
}"""
_COLOURED: Final = """() => [...document.querySelectorAll('[role=log] [aria-label="Code, python"]')]
  .every(each => each.querySelector('.line > span[style]') !== null)"""
_SAID: Final = "document.querySelector('[data-key=\"m2.0\"]')?.textContent.length ?? 0"


@dataclass
class Stage:
    """A signed-in tab under the probe, a server, and what may be seeded."""

    site: Site
    tab: Tab
    probe: Probe
    seeding: Seeding

    async def again(self) -> None:
        """From a fresh page: what was seeded meanwhile is in its list."""
        await self.tab.go()
        await self.probe.first("listed")

    async def ask_for_story(self, rate: int) -> str:
        chat_id = await self.tab.new_chat(f"{STORY} [[sim: rate={rate}]]")
        await self.tab.page.locator("[data-key='m2.0']").wait_for()
        return chat_id

    async def said(self) -> int:
        return int(await self.tab.page.evaluate(_SAID))

    async def stop(self) -> None:
        """The answer, which was long enough."""
        stop = self.tab.page.get_by_role("button", name="Stop")
        if await stop.count() > 0:
            await stop.click()
        await self.tab.settled()
        await self.tab.page.locator("[data-composer]").fill("")

    async def until_said(self, size: int) -> None:
        await self.tab.page.wait_for_function(
            f"size => ({_SAID}) >= size", arg=size, timeout=120_000
        )


@asynccontextmanager
async def a_stage(template: str, browser: Browser) -> AsyncGenerator[Stage]:
    """The simulator is a process of its own, so that it keeps its pace."""
    with short_folder() as folder:
        script = write_script(folder)
        async with (
            temporary_database(template) as url,
            simulator_process("--script", str(script)) as simulator,
            a_site(Replicas(url, Elsewhere(simulator))) as site,
        ):
            context = await browser.new_context(viewport={"width": 1280, "height": 800})
            tab = await open_tab(context, site)
            probe = await probed(context, tab.page)
            await tab.sign_in()
            yield Stage(site, tab, probe, await seeding(url, site.admin))
            await context.close()


def write_script(folder: Path) -> Path:
    said = orjson.dumps(long_markdown(STORY_BYTES)).decode()
    step = {"when": {"prompt": STORY}, "do": f"say {said}"}
    path = folder / "story.json"
    path.write_bytes(orjson.dumps({"steps": [step]}))
    return path


def p95(times_ms: list[float], count: int) -> float:
    """Of `count` presses, of which the quickest were not told."""
    told = [*times_ms, *[LEAST_TOLD_MS] * (count - len(times_ms))]
    return sorted(told)[ceil(len(told) * 0.95) - 1]


# One measure each.


async def cold_load_ms(stage: Stage) -> float:
    """From an empty cache of the browser to a composer on the screen."""
    await stage.probe.cdp.send("Network.clearBrowserCache")
    await stage.tab.go()
    return await stage.probe.first("composer")


async def sidebar_ms(stage: Stage) -> float:
    """From the empty list on the screen to its first rows, since the page was last loaded."""
    listed = await stage.probe.first("listed")
    return listed - await stage.probe.first("sidebar")


async def load_older(stage: Stage) -> None:
    """Go to the top: the rows of an older page come, unless the first message is there."""
    await stage.tab.page.get_by_role("log").press("Home")
    await at_rest(stage)
    await settle(stage.tab.page)


async def rows_known(stage: Stage) -> int:
    """How many rows the chat has, as far as the page has read it."""
    last = stage.tab.page.locator("article").last
    return int(await last.get_attribute("aria-setsize") or 0)


async def at_rest(stage: Stage) -> None:
    """Until nothing in the page has changed for some frames."""
    async with asyncio.timeout(PATIENCE_MS / 1000):
        await stage.tab.page.evaluate(_AT_REST, CALM_FRAMES)


async def read_to_the_end(stage: Stage) -> None:
    """Until the page has told the server that the last message was read, a second after it came."""
    chat_id = stage.tab.page.url.rsplit("/", 1)[1]
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while True:
            chat = (await stage.site.admin.get(f"chats/{chat_id}")).json
            if chat["read_seq"] >= chat["last_seq"]:
                return
            await asyncio.sleep(0.1)


async def all_loaded(stage: Stage) -> None:
    """Back to the first message of the chat that is open, page by page."""
    log = stage.tab.page.get_by_role("log")
    async with asyncio.timeout(120):
        while await log.locator("[data-key='m1']").count() == 0:
            await log.press("Home")
            await asyncio.sleep(0.2)


async def sidebar_rows(stage: Stage, steps: int) -> int:
    """The most rows that are in the page while somebody scrolls on and on, each time until more
    chats have come: of a list that is short all rows may be there."""
    page = stage.tab.page
    rows = page.get_by_role("navigation", name="Chats").locator("li")
    most = await rows.count()
    for _ in range(steps):
        height = await page.evaluate(
            """() => {
              const list = document.querySelector('nav ul').parentElement;
              const height = list.scrollHeight;
              list.scrollBy(0, 1e6);
              return height;
            }"""
        )
        await page.wait_for_function(
            "height => document.querySelector('nav ul').parentElement.scrollHeight > height",
            arg=height,
        )
        most = max(most, await rows.count())
    return most


@dataclass(frozen=True)
class Switched:
    wrong: list[str]
    growth_mb: float
    heap_mb: float


async def switch(stage: Stage, chats: dict[str, str], rows: int, times: int) -> Switched:
    """Back and forth between open chats, each known by a word that only it has."""
    order = list(chats)
    for chat in order:
        await stage.probe.open(chat, last_row(rows))
    await stage.tab.page.evaluate("markers => { probe.markers = markers }", chats)
    heap = await stage.probe.heap_mb()
    await stage.probe.begin()
    for n in range(times):
        await stage.probe.open(order[n % len(order)], last_row(rows))
    seen = await stage.probe.seen()
    await stage.tab.page.evaluate("probe.markers = {}")
    return Switched(seen.wrong, await stage.probe.heap_mb() - heap, heap)


@dataclass(frozen=True)
class Streamed:
    """While the answer was small, large: what it cost the page's own thread."""

    seen: Seen
    presses: int
    cost: tuple["Cost", "Cost"]

    @property
    def key_p95_ms(self) -> float:
        return p95(self.seen.keys_ms, self.presses)

    @property
    def growth(self) -> float:
        """Of a frame with news."""
        small, large = self.cost
        return large.frame_ms / small.frame_ms

    @property
    def growth_by_size(self) -> float:
        """Of the same words. A machine that is busy has fewer frames, with more news in each."""
        small, large = self.cost
        return large.kilobyte_ms / small.kilobyte_ms

    @property
    def crowded(self) -> int:
        """Frames in which React committed more than once."""
        return sum(n > 1 for n in self.seen.commits.values())


async def stream(
    stage: Stage,
    rate: int,
    key_every_s: float | None,
    windows: tuple[tuple[int, int], tuple[int, int]] = (SMALL, LARGE),
) -> Streamed:
    """A long answer until the end of the second window, and somebody who writes meanwhile."""
    await stage.ask_for_story(rate)
    await stage.probe.begin()
    presses = 0

    async def write() -> None:
        nonlocal presses
        while key_every_s is not None:
            await stage.tab.page.keyboard.press("x")
            presses += 1
            await asyncio.sleep(key_every_s)  # Real time: the pace of a writer

    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(write())
        cost = [await _cost(stage, *window) for window in windows]
        writing.cancel()
    seen = await stage.probe.seen()
    await stage.stop()
    return Streamed(seen, presses, (cost[0], cost[1]))


@dataclass(frozen=True)
class Cost:
    frame_ms: float
    kilobyte_ms: float


async def _cost(stage: Stage, begins: int, ends: int) -> Cost:
    """The median of a few stretches: whatever else the machine does hits one of them."""
    of_frames, of_words = list[float](), list[float]()
    step = (ends - begins) // STRETCHES
    for at in range(begins, ends, step):
        await stage.until_said(at)
        busy, frames = await stage.probe.busy_s(), await _frames_with_news(stage)
        await stage.until_said(at + step)
        busy, frames = await stage.probe.busy_s() - busy, await _frames_with_news(stage) - frames
        of_words.append(busy / step * 1e6)
        if frames > 0:
            of_frames.append(busy / frames * 1e3)
    return Cost(median(of_frames), median(of_words))


async def _frames_with_news(stage: Stage) -> int:
    return int(await stage.tab.page.evaluate("probe.commits.size"))


async def drawn_by_keys(stage: Stage, rate: int, presses: int) -> tuple[Seen, Seen]:
    """What an answer draws again by itself, and what keys draw once it is over."""
    await stage.ask_for_story(rate)
    await stage.probe.begin(counting=True)
    await stage.until_said(SMALL[1])
    answer = await stage.probe.seen()
    await stage.stop()
    await at_rest(stage)
    await stage.probe.begin(counting=True)
    await stage.tab.page.locator("[data-composer]").press_sequentially("x" * presses)
    keys = await stage.probe.seen()
    await stage.tab.page.locator("[data-composer]").fill("")
    return answer, keys


async def whole_turn(stage: Stage) -> Seen:
    """Thinking, saying, code that is folded; begun elsewhere, since what follows a key may move."""
    chat_id = await stage.tab.new_chat('[[sim: say "A first answer."]]')
    await stage.tab.settled()
    await at_rest(stage)
    await stage.probe.begin()
    code = "```python\n" + "    value = await pool.acquire(limit)  # waits\n" * 60 + "```\n\n"
    said = orjson.dumps(long_markdown(2_000) + code + long_markdown(1_000)).decode()
    prompt = f'[[sim: think "How do I begin? With what was measured." | say {said} | rate=400]]'
    sent = await stage.site.admin.post(f"chats/{chat_id}/messages", {"text": prompt})
    assert sent.status < 300, sent.raw
    await stage.site.admin.until(chat_id, "running")
    await stage.site.admin.until(chat_id, "idle", within_s=60)
    await stage.tab.settled()
    await stage.tab.page.wait_for_function(_COLOURED)  # colours come after the fact
    await at_rest(stage)
    return await stage.probe.seen()


async def requests_of_a_message(stage: Stage) -> list[str]:
    """All that is asked for when one message is sent in an open chat, and long after its answer."""
    await stage.tab.new_chat('[[sim: say "First."]]')
    await stage.tab.settled()
    await read_to_the_end(stage)
    await at_rest(stage)
    asked: list[str] = []

    def note(request: Request) -> None:
        path = request.url.removeprefix(stage.site.url).split("?")[0]
        words = [each for each in path.split("/")[3:] if not each.startswith("chat_")]
        asked.append(f"{request.method} {'/'.join(words)}")

    stage.tab.page.on("request", note)
    await stage.tab.say('[[sim: say "Second."]]')
    await (
        stage.tab.page.get_by_role("log")
        .get_by_text("Second.", exact=True)
        .wait_for(timeout=PATIENCE_MS)
    )
    await stage.tab.settled()
    await read_to_the_end(stage)
    # Real time: what is asked for on account of the answer would be asked for by now.
    await stage.tab.page.wait_for_timeout(1_500)
    stage.tab.page.remove_listener("request", note)
    return asked
