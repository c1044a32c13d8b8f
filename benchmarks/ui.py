"""`just bench-ui`: the page's performance budget, at full speed and with a quarter of it.

Writes benchmarks/ui.md and benchmarks/ui.json. Runs the browser tests first, for what they see.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from playwright.async_api import Browser

from benchmarks.report import stamp, write_json, write_page
from tests.support import budget, figures
from tests.support.browser import chromium, why_no_browser
from tests.support.budget import SMALL, Stage, a_stage
from tests.support.built import chat_route_kb, shell_kb
from tests.support.database import migrated_template
from tests.support.seeded import last_row

TIMES: Final = 3
HISTORIES: Final = (10, 1_000, 10_000)
CHATS: Final = 5_000
RATE: Final = 300
MIDDLE: Final = (18_000, 26_000)
"""At a quarter of the speed the answer is not heard to its end: half a minute is enough."""


@dataclass(frozen=True)
class Row:
    """A line of the budget. `most`: at full speed, at a quarter of it; None: nothing is asked."""

    key: str
    title: str
    unit: str
    most: tuple[float | None, float | None]


MS: Final = " ms"
ROWS: Final = (
    Row("cold_load_ms", "Cold load of `/` to a composer on the screen", MS, (1_000, 2_500)),
    Row("open_10_ms", "Open a chat of 10 messages to its last row painted", MS, (500, 1_500)),
    Row("open_1000_ms", "Open a chat of 1,000 messages to its last row painted", MS, (500, 1_500)),
    Row("open_10000_ms", "Open a chat of 10,000 messages to its last row", MS, (500, 1_500)),
    Row("wrong_frames", "Frames with another chat's transcript, 50 switches", "", (0, 0)),
    Row("elements_1000", "Elements in the page, 1,000 messages", "", (3_000, 3_000)),
    Row("elements_10000", "Elements in the page, 10,000 messages", "", (3_000, 3_000)),
    Row("heap_1000_mb", "Heap after collection, 1,000 messages loaded", " MB", (60, None)),
    Row("heap_growth_mb", "Its growth over 50 switches", " MB", (10, None)),
    Row("long_task_share", "300 tokens/s: share of time in long tasks", "", (0.05, 0.25)),
    Row("long_task_max_ms", "300 tokens/s: the longest task", MS, (100, 250)),
    Row("crowded_frames", "Frames with more than one commit of React, share", "", (0.05, 0.05)),
    Row(
        "others_drawn",
        "Drawn beside the live row and the meter, per frame with news",
        "",
        (0.1, 0.1),
    ),
    Row("chunk_growth", "Cost of a frame with news late in 60 KB, to early", "×", (2, None)),
    Row("key_p95_ms", "Key to paint while streaming, p95", MS, (80, 200)),
    Row("drawn_per_key", "Transcript components drawn per key", "", (0, 0)),
    Row("layout_shift", "Layout shift over a whole turn", "", (0.005, 0.02)),
    Row("sidebar_ms", "List of 5,000 chats: first rows after its frame", MS, (300, 900)),
    Row("sidebar_rows", "List of 5,000 chats: rows in the page", "", (100, 100)),
    Row("posts_per_message", "A sent message: `POST`s", "", (1, None)),
    Row(
        "list_requests", "A sent message: other requests than that and the read mark", "", (0, None)
    ),
)
Figures = dict[str, float]


async def measure(template: str, browser: Browser, slower: int) -> Figures:
    async with a_stage(template, browser) as stage:
        chats = {
            (size, n): await stage.seeding.history(size, f"{'abc'[n]}{size}")
            for size in HISTORIES
            for n in range(3 if size == 1_000 else 1)
        }
        await stage.seeding.listing(CHATS)
        await stage.probe.throttle(slower)
        found: Figures = {}
        for part in (loading, opening, switching, streaming, one_turn, sending):
            found |= await part(stage, Seeded(chats, slower))
            print(f"{part.__name__} at 1/{slower}: {found}", flush=True)
        assert stage.tab.complaints == []
        return found


@dataclass(frozen=True)
class Seeded:
    """`chats` by their size and a number; `slower`: so many times."""

    chats: dict[tuple[int, int], str]
    slower: int


async def loading(stage: Stage, _seeded: Seeded) -> Figures:
    loads: list[float] = []
    lists: list[float] = []
    for _ in range(TIMES):
        loads.append(await budget.cold_load_ms(stage))
        lists.append(await budget.sidebar_ms(stage))
    rows = await budget.sidebar_rows(stage, steps=10)
    return {
        "cold_load_ms": median(loads),
        "sidebar_ms": median(lists),
        "sidebar_rows": float(rows),
    }


async def opening(stage: Stage, seeded: Seeded) -> Figures:
    chats = seeded.chats
    taken: dict[int, list[float]] = {size: [] for size in HISTORIES}
    found: Figures = {}
    for _ in range(TIMES):
        await stage.again()  # so that none of them is known
        for (size, _n), chat in chats.items():
            taken[size].append(await stage.probe.open(chat, last_row(size)))
            found[f"elements_{size}"] = float(await stage.probe.elements())
    await stage.probe.open(chats[1_000, 0], last_row(1_000))
    await budget.all_loaded(stage)
    found["heap_1000_mb"] = await stage.probe.heap_mb()
    return found | {f"open_{size}_ms": median(times) for size, times in taken.items()}


async def switching(stage: Stage, seeded: Seeded) -> Figures:
    await stage.again()
    pair = {seeded.chats[1_000, n]: f"{'abc'[n]}1000:" for n in range(2)}
    switched = await budget.switch(stage, pair, 1_000, times=50)
    return {"wrong_frames": float(len(switched.wrong)), "heap_growth_mb": switched.growth_mb}


async def streaming(stage: Stage, seeded: Seeded) -> Figures:
    windows = (SMALL, budget.LARGE) if seeded.slower == 1 else (SMALL, MIDDLE)
    streamed = await budget.stream(stage, RATE, 0.4, windows)
    answer, keys = await budget.drawn_by_keys(stage, RATE * 3, presses=20)
    others = answer.drawn_in("row ", "transcript") - answer.drawn_in("row m2.0", "row foot")
    found = {
        "long_task_share": streamed.seen.long_share,
        "long_task_max_ms": streamed.seen.longest_ms,
        "crowded_frames": streamed.crowded / len(streamed.seen.commits),
        "frame_cost_ms": streamed.cost[0].frame_ms,
        "key_p95_ms": streamed.key_p95_ms,
        "others_drawn": others / len(answer.commits),
        "drawn_per_key": keys.drawn_in("row ", "transcript") / 20,
    }
    return found | ({"chunk_growth": streamed.growth} if seeded.slower == 1 else {})


async def one_turn(stage: Stage, _seeded: Seeded) -> Figures:
    return {"layout_shift": (await budget.whole_turn(stage)).layout_shift}


async def sending(stage: Stage, seeded: Seeded) -> Figures:
    if seeded.slower > 1:
        return {}
    asked = await budget.requests_of_a_message(stage)
    posts = sum(each.startswith("POST") for each in asked)
    others = [
        each for each in asked if each not in ("POST chats/messages", "PUT chats/read-marker")
    ]
    return {"posts_per_message": float(posts), "list_requests": float(len(others))}


async def measure_all() -> tuple[Figures, Figures]:
    async with migrated_template() as template, chromium() as browser:
        full = await measure(template, browser, 1)
        return full, await measure(template, browser, 4)


# What others see.


def browser_tests() -> Figures:
    """All of them, run as CI does, and what they noted on the way."""
    with tempfile.TemporaryDirectory() as folder:
        told, noted = Path(folder) / "tests.xml", Path(folder) / "figures"
        noted.touch()
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile"),
                *("tests/browser", f"--junitxml={told}"),
            ],
            env={**os.environ, figures.VARIABLE: str(noted)},
            check=False,  # what failed is counted
        )
        suites = list(ET.parse(told).getroot().iter("testsuite"))
        count = {
            name: sum(int(suite.get(name, "0")) for suite in suites)
            for name in ("tests", "failures", "errors", "skipped")
        }
        return {
            "browser_tests": float(count["tests"] - count["skipped"]),
            "browser_tests_failed": float(count["failures"] + count["errors"]),
            **figures.greatest(noted),
        }


def wheel_mb() -> float:
    with tempfile.TemporaryDirectory() as folder:
        build = ["uv", "build", "--quiet", "--wheel", "--package", "holdfast", "--out-dir", folder]
        subprocess.run(build, check=True)
        return next(Path(folder).glob("*.whl")).stat().st_size / 2**20


def sizes() -> Figures:
    return {
        "shell_kb_gzip": shell_kb(),
        "chat_route_kb_gzip": chat_route_kb(),
        "wheel_mb": wheel_mb(),
    }


SIZES: Final = (
    ("shell_kb_gzip", "Shell, scripts and styles, gzip", 200, " KB"),
    ("chat_route_kb_gzip", "What the chat adds to it", 190, " KB"),
    ("wheel_mb", "The wheel", 6, " MB"),
)


# The page and the figures.


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def line(row: Row, full: Figures, quarter: Figures) -> str:
    asked = [f"{number(most)}{row.unit}" if most is not None else "—" for most in row.most]
    cells: list[str] = []
    missed = False
    for figures_, most in zip((full, quarter), row.most, strict=True):
        value = figures_.get(row.key)
        cells.append("—" if value is None else f"{number(value)}{row.unit}")
        missed |= value is not None and most is not None and value > most
    met = "**no**" if missed else "yes"
    return f"| {row.title} | {asked[0]} | {cells[0]} | {asked[1]} | {cells[1]} | {met} |\n"


def flat(full: Figures, quarter: Figures) -> Figures:
    slow = {f"{key}_4x": value for key, value in quarter.items()}
    missed = sum(
        each.get(row.key, 0) > most
        for row in ROWS
        for each, most in zip((full, quarter), row.most, strict=True)
        if most is not None
    )
    return {**full, **slow, "budget_missed": float(missed)}


def write(full: Figures, quarter: Figures, built: Figures, tests: Figures) -> None:
    found = {**flat(full, quarter), **built, **tests}
    shift = max(full["layout_shift"], tests.get("layout_shift_max", 0.0))
    found["layout_shift_max"] = shift
    page = Path(__file__).with_name("ui.template.md").read_text(encoding="utf-8")
    tested = "".join(f"| `{key}` | {number(value)} |\n" for key, value in tests.items())
    write_page(
        "ui",
        page.format(
            stamp=stamp(),
            load=f"{os.getloadavg()[0]:.1f}",
            cores=os.cpu_count(),
            rows="".join(line(row, full, quarter) for row in ROWS),
            sizes="".join(
                f"| {title} | {most}{unit} | {number(built[key])}{unit} | "
                f"{'yes' if built[key] <= most else '**no**'} |\n"
                for key, title, most, unit in SIZES
            ),
            tests=tested,
            times=TIMES,
        ),
    )
    write_json("ui", {key: _plain(value) for key, value in found.items()})
    print(found)


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else round(value, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-tests", action="store_true", help="measure only")
    given = parser.parse_args()
    if (why := why_no_browser()) is not None:
        sys.exit(why)
    tests = {} if given.without_tests else browser_tests()
    full, quarter = asyncio.run(measure_all())
    write(full, quarter, sizes(), tests)


if __name__ == "__main__":
    main()
