"""What axe finds wrong with a page, and what of it cannot be read because it is cut off.

Axe comes with the page's own tools (`ui/node_modules`). It is put in through the debugger, which
no content security policy binds, so that the page keeps its own.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Page

from tests.support.figures import note

SOURCE: Final = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
GRAVE: Final = ("serious", "critical")

_CUT_OFF: Final = """() => {
  const wide = document.documentElement.clientWidth;
  const found = [];
  const scrolls = each => {
    for (let up = each; up !== null; up = up.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(up).overflowX)) return true;
    }
    return false;
  };
  for (const each of document.body.querySelectorAll('*')) {
    if (each.closest('.sr-only, [aria-hidden=true], svg') !== null) continue;
    if (!each.checkVisibility()) continue;
    const style = getComputedStyle(each);
    const box = each.getBoundingClientRect();
    const name = `${each.tagName.toLowerCase()}.${String(each.className).slice(0, 60)}`;
    const said = `${name} "${(each.innerText ?? '').trim().slice(0, 40)}"`;
    if (box.width > 0 && box.right > wide + 1 && !scrolls(each)) found.push(`outside: ${said}`);
    const clips = style.overflowX === 'hidden' || style.overflowX === 'clip';
    const dotted = style.textOverflow === 'ellipsis' || style.webkitLineClamp !== 'none';
    const drawn = style.overflowX === 'clip' ? parseFloat(style.overflowClipMargin) || 0 : 0;
    const shown = each.clientWidth + drawn + 1;
    if (clips && !dotted && each.scrollWidth > shown && each.clientWidth > 1) {
      found.push(`cut off: ${said}`);
    }
  }
  return found;
}"""


STILL: Final = """() => document.getAnimations().every((each) =>
  each.playState !== 'running' || each.effect?.getComputedTiming().endTime === Infinity)"""


@cache
def _source() -> str:
    assert SOURCE.is_file(), "axe is not installed: run `just ui`"
    return SOURCE.read_text()


async def grave_of(page: Page) -> list[str]:
    """What is serious or critical, a sentence each; and something must have been looked at."""
    if not await page.evaluate("() => 'axe' in globalThis"):
        await page.evaluate(_source())
    # Colours of what fades in or out cannot be compared.
    await page.wait_for_function(STILL)
    found: dict[str, Any] = await page.evaluate("() => axe.run(document)")
    grave = [
        f"{each['impact']} {each['id']}: "
        + " | ".join(" ".join(map(str, node["target"])) for node in each["nodes"][:3])
        + f" ({each['nodes'][0].get('failureSummary', '')[:200]})"
        for each in found["violations"]
        if each["impact"] in GRAVE
    ]
    looked_at = {each["id"] for each in found["passes"]} | {
        each["id"] for each in found["violations"]
    }
    assert "color-contrast" in looked_at, "no colours could be compared"
    note("axe_serious", len(grave))
    return grave


async def cut_off(page: Page) -> list[str]:
    """Elements that reach out of the window, or whose text is cut off without a sign of it."""
    return await page.evaluate(_CUT_OFF)
