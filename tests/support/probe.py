"""What the probe in a page has seen, and what the browser knows about it beside."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from playwright.async_api import BrowserContext, Page

SCRIPT: Final = Path(__file__).with_name("probe.js")
LEAST_TOLD_MS: Final = 16.0
"""Event timing tells of nothing that was quicker."""
_SEEN: Final = """since => ({
    frames: probe.frame,
    now: performance.now(),
    commits: [...probe.commits],
    longTasks: probe.longTasks.filter(([at]) => at >= since),
    shifts: probe.shifts.filter(([at]) => at >= since),
    keys: probe.keys.filter(([at]) => at >= since),
    wrong: probe.wrong,
    drawn: probe.drawn,
})"""


@dataclass(frozen=True)
class Seen:
    """`commits`: of React, by frame. `drawn`: components drawn again, by where they are."""

    took_ms: float
    commits: dict[int, int]
    long_tasks_ms: list[float]
    shifts: list[tuple[float, Any]]
    keys_ms: list[float]
    wrong: list[str]
    drawn: dict[str, int]

    @property
    def long_share(self) -> float:
        return sum(self.long_tasks_ms) / self.took_ms

    @property
    def longest_ms(self) -> float:
        return max(self.long_tasks_ms, default=0.0)

    @property
    def layout_shift(self) -> float:
        return sum(value for value, _ in self.shifts)

    def drawn_in(self, *places: str) -> int:
        return sum(n for place, n in self.drawn.items() if place.startswith(places))


@dataclass
class Probe:
    page: Page
    cdp: Any
    """A session of the browser's own protocol, whose answers have no types."""
    began_ms: float = 0.0
    frame: int = 0

    async def begin(self, *, counting: bool = False) -> None:
        """From here on; `counting` components costs something, and is not for timing."""
        begun: Any = await self.page.evaluate(
            """counting => {
                probe.counting = counting; probe.drawn = {}; probe.wrong = [];
                return [performance.now(), probe.frame];
            }""",
            counting,
        )
        self.began_ms, self.frame = begun

    async def seen(self) -> Seen:
        seen: Any = await self.page.evaluate(_SEEN, self.began_ms)
        return Seen(
            took_ms=seen["now"] - self.began_ms,
            commits={frame: n for frame, n in seen["commits"] if frame > self.frame},
            long_tasks_ms=[duration for _, duration in seen["longTasks"]],
            shifts=[(value, where) for _, value, where in seen["shifts"]],
            keys_ms=[duration for _, duration in seen["keys"]],
            wrong=seen["wrong"],
            drawn=seen["drawn"],
        )

    async def first(self, name: str) -> float:
        """Milliseconds after the navigation began when this was first on the screen."""
        await self.page.wait_for_function("name => probe.first[name] !== undefined", arg=name)
        return float(await self.page.evaluate("name => probe.first[name]", name))

    async def open(self, chat_id: str, last: str) -> float:
        """Milliseconds until a chat of the list is open and its last row painted."""
        return float(
            await self.page.evaluate("([chat, last]) => probe.open(chat, last)", [chat_id, last])
        )

    async def elements(self) -> int:
        return int(await self.page.evaluate("document.getElementsByTagName('*').length"))

    async def heap_mb(self) -> float:
        """After everything that nobody refers to is gone."""
        for _ in range(2):
            await self.cdp.send("HeapProfiler.collectGarbage")
        used = await self.cdp.send("Runtime.getHeapUsage")
        return used["usedSize"] / 2**20

    async def busy_s(self) -> float:
        """Seconds that the page's main thread has worked so far."""
        measured = await self.cdp.send("Performance.getMetrics")
        return next(each["value"] for each in measured["metrics"] if each["name"] == "TaskDuration")

    async def throttle(self, times: float) -> None:
        await self.cdp.send("Emulation.setCPUThrottlingRate", {"rate": times})


async def probed(context: BrowserContext, page: Page) -> Probe:
    """Before the page goes anywhere."""
    await page.add_init_script(path=SCRIPT)
    cdp: Any = await context.new_cdp_session(page)
    # By the clock of the thread itself: what others do on this machine is not the page's cost.
    await cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
    return Probe(page, cdp)
