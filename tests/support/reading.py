"""Somebody who reads: how far the line before their eyes moves while something happens.

The line is that of the first character in sight, and its middle, which is the same for all letters.
It is looked at in every frame, after all that the page itself does for it: by an observer of sizes
that was made after the page's own, of an element that gets another size with each frame. So it is
seen as it is painted, also if that is for a single frame.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from playwright.async_api import Page

from tests.support.figures import note

LAYOUT_UNIT_PX: Final = 1 / 64
"""The browser lays out in such units: whatever moves at all moves by one or more of them."""

_WATCH: Final = """() => {
  const log = document.querySelector('[role=log]');
  const edge = () => log.getBoundingClientRect().top;
  const placeOf = ([text, at]) => {
    const range = document.createRange();
    if (!text.isConnected || at >= text.length) return null;
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    const [box] = range.getClientRects();
    return box === undefined ? null : (box.top + box.bottom) / 2 - edge();
  };
  const inSight = [...log.querySelectorAll('article')]
    .filter(each => each.getBoundingClientRect().bottom > edge())
    .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
  const lines = function* () {
    for (const row of inSight) {
      const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const text = texts.currentNode;
        if (text.data.trim() === '' || text.parentElement.closest('.sr-only, button')) continue;
        for (let at = 0; at < text.length; at++) if (placeOf([text, at]) >= 0) yield [text, at];
      }
    }
  };
  const line = lines().next().value;
  const watch = { from: placeOf(line), far: 0, on: true };
  globalThis.watched = watch;
  const probe = document.body.appendChild(document.createElement('div'));
  probe.style.cssText = 'position: fixed; visibility: hidden; width: 1px; height: 1px';
  const look = () => {
    if (watch.on) watch.far = Math.max(watch.far, Math.abs((placeOf(line) ?? 1e6) - watch.from));
  };
  const observer = new ResizeObserver(look);
  observer.observe(probe);
  const each = () => {
    if (!watch.on) {
      observer.disconnect();
      return probe.remove();
    }
    probe.style.width = probe.style.width === '1px' ? '2px' : '1px';
    requestAnimationFrame(each);
  };
  each();
  return line[0].data.slice(line[1], line[1] + 40);
}"""
_END: Final = """() => {
  const log = document.querySelector('[role=log]');
  return Math.max(0, log.scrollHeight - log.clientHeight - log.scrollTop);
}"""
_SHIFTS: Final = """() => {
  const shifts = [];
  const observer = new PerformanceObserver(list => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      shifts.push({
        value: entry.value,
        moved: entry.sources.map(({ node, previousRect: was, currentRect: is }) => {
          const what = node?.nodeType === 1 ? node : node?.parentElement;
          return `${what?.outerHTML?.slice(0, 160)} ${was.x},${was.y} ${was.width}x${was.height}` +
            ` -> ${is.x},${is.y} ${is.width}x${is.height}`;
        }),
      });
    }
  });
  observer.observe({ type: 'layout-shift' });
  globalThis.shiftsUntilNow = () => {
    observer.disconnect();
    return shifts;
  };
}"""


@dataclass
class Watched:
    """`far`: how far the line was away at most, in px."""

    words: str
    far: float = 0.0


async def settle(page: Page, frames: int = 12) -> None:
    """Until what was told is drawn, measured and drawn again: some frames, and no one is moving."""
    await page.evaluate(
        """async frames => {
          const place = () => {
            const log = document.querySelector('[role=log]');
            return log === null ? '' : `${log.scrollTop} ${log.scrollHeight}`;
          };
          let last = place();
          for (let calm = 0; calm < frames; calm++) {
            await new Promise(requestAnimationFrame);
            const now = place();
            if (now !== last) calm = 0;
            last = now;
          }
        }""",
        frames,
    )


@asynccontextmanager
async def reading(page: Page) -> AsyncGenerator[Watched]:
    """What happens within may not move the reader's line."""
    watched = Watched(await page.evaluate(_WATCH))
    yield watched
    await settle(page)
    watched.far = await page.evaluate("() => { watched.on = false; return watched.far; }")
    note("drift_px_max", watched.far)


async def from_end(page: Page) -> float:
    """How far below what is seen the end is, in px."""
    return await page.evaluate(_END)


async def look_back(page: Page, by: int) -> None:
    """With the wheel, over the transcript."""
    box = await page.get_by_role("log").bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await page.mouse.wheel(0, -by)
    await settle(page)


@asynccontextmanager
async def shifted(page: Page) -> AsyncGenerator[list[dict[str, Any]]]:
    """Layout shifts as the browser itself counts them; the list is filled when this ends."""
    shifts: list[dict[str, Any]] = []
    await page.evaluate(_SHIFTS)
    # Real time: for half a second after a press the browser excuses every shift.
    await asyncio.sleep(0.6)
    yield shifts
    await settle(page)
    shifts += await page.evaluate("() => shiftsUntilNow()")
    note("layout_shift_max", round(sum(each["value"] for each in shifts), 4))
