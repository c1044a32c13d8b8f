"""What answers are made of, in a real browser: formulas under the page's policy, every word."""

import json
import re
from collections.abc import AsyncGenerator
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browser.test_hostile import WATCH
from tests.support.browser import PATIENCE_MS, Site, Tab, open_tab

GOLDEN = Path(__file__).parents[1] / "golden" / "answers"
"""Pieces of answers, of which ui/src/markdown/answers.test.tsx makes two hundred."""
IN_ALL = (("maths", 1), ("diagrams", 1), ("footnotes", 0), ("tables", 0), ("right-to-left", 0))
NO_WORDS = re.compile(r"\]\([^)\n]*\)|\[\^[^\]\s]+\]|\\[A-Za-z]+")
SEEN = """answer => {
  const copy = answer.cloneNode(true);
  for (const hidden of copy.querySelectorAll('.katex-mathml')) hidden.remove();
  return copy.textContent;
}"""

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(19)]

FORMULAS = "Energy $E = mc^2$ of\n\n$$\n\\sqrt{\\frac{a}{b}}\n$$\n\nand $\\nonsense{kept}$ too."
FONT_LOADED = (
    "[...document.fonts].some(each => /KaTeX/.test(each.family) && each.status === 'loaded')"
)


@pytest_asyncio.fixture(loop_scope="session")
async def watched(browser: Browser, site: Site) -> AsyncGenerator[Tab]:
    context = await browser.new_context()
    await context.add_init_script(WATCH)
    tab = await open_tab(context, site)
    await tab.sign_in()
    yield tab
    await context.close()


def saying(text: str) -> str:
    return f"[[sim: say {json.dumps(text)}]]"


async def test_formulas_are_typeset_within_the_policy(watched: Tab) -> None:
    """Styles and fonts are the server's own; what KaTeX refuses is shown as its source."""
    page = watched.page
    await watched.new_chat(saying(FORMULAS))
    answer = page.locator(".markdown").last
    await expect(answer.locator(".katex-html")).to_have_count(2, timeout=PATIENCE_MS)
    await expect(answer).to_contain_text("$\\nonsense{kept}$ too.")
    await expect(answer.locator(".formula.display svg")).to_have_count(1)
    await page.wait_for_function(FONT_LOADED)
    assert await page.evaluate("violations") == []


FLOW = "```mermaid\nflowchart LR\n  tide[The tide] -->|lifts| boat[Each boat]\n```"
SEQUENCE = "```mermaid\nsequenceDiagram\n  Alice->>Bob: hello there\n```"
HOSTILE = (
    "```mermaid\n%%{init: {'securityLevel': 'loose', 'htmlLabels': true}}%%\nflowchart LR\n"
    "  a[\"<img src=https://evil.example/i.png onerror='parent.ran=1'>\"] --> b\n"
    '  click a href "javascript:parent.ran=1"\n'
    "  classDef x fill:url(https://evil.example/f.png)\n```"
)
NO_DIAGRAM = "```mermaid\nthese words are kept\n```"


async def test_diagrams_are_pictures_and_their_source_can_be_read(watched: Tab) -> None:
    page = watched.page
    await watched.new_chat(saying(f"{FLOW}\n\n{SEQUENCE}\n\n{NO_DIAGRAM}\n\n- in a list\n"))
    answer = page.locator(".markdown").last
    pictures = answer.locator("figure.diagram img")
    await expect(pictures).to_have_count(2, timeout=PATIENCE_MS)
    for picture in await pictures.all():
        await picture.evaluate("each => each.decode()")
        assert await picture.evaluate("each => each.naturalWidth > 50 && each.height > 20")
    await expect(answer.get_by_text("these words are kept")).to_be_visible()
    await answer.get_by_text("Source").first.click()
    await expect(answer.get_by_text("The tide")).to_be_visible()
    assert await page.evaluate("violations") == []


async def test_a_diagram_runs_and_loads_nothing(watched: Tab) -> None:
    page = watched.page
    await watched.new_chat(saying(f"{HOSTILE}\n\n{FLOW}"))
    answer = page.locator(".markdown").last
    await expect(answer.locator("figure.diagram").last).to_contain_text(
        "The tide", timeout=PATIENCE_MS
    )
    assert await page.evaluate("() => [globalThis.ran, violations]") == [None, []]
    assert watched.foreign == []


async def test_the_frame_that_draws_reaches_neither_the_page_nor_the_server(watched: Tab) -> None:
    """Even if a diagram made Mermaid run a script."""
    page = watched.page
    await watched.new_chat(saying(FLOW))
    await expect(page.locator("figure.diagram")).to_be_visible(timeout=PATIENCE_MS)
    (frame,) = (each for each in page.frames if each.url.endswith("/diagram.html"))
    assert await frame.evaluate("origin") == "null"
    for attempt in (
        "fetch('/api/v1/me')",
        "Promise.resolve().then(() => parent.document.body)",
        "Promise.resolve().then(() => localStorage.length)",
        "new Promise((good, bad) => { const image = new Image(); image.onload = good;"
        " image.onerror = bad; image.src = '/icon.svg'; })",
    ):
        outcome = await frame.evaluate(f"() => {attempt}.then(() => 'reached', () => 'refused')")
        assert outcome == "refused", attempt


async def test_every_word_of_an_answer_is_seen(watched: Tab) -> None:
    number = count(1)
    pieces = [(GOLDEN / f"{name}.md").read_text().split("\n--8<--\n")[at] for name, at in IN_ALL]
    source = re.sub("[§¤]", lambda _: f"word{next(number)}x", "\n\n".join(pieces))
    await watched.new_chat(saying(source))
    answer = watched.page.locator(".markdown").last
    await expect(answer.locator(".katex-html")).to_have_count(1, timeout=PATIENCE_MS)
    await expect(answer.locator("figure.diagram")).to_have_count(1, timeout=PATIENCE_MS)
    seen = await answer.evaluate(SEEN)
    words = re.findall(r"[^\W_]{3,}", NO_WORDS.sub(" ", source))
    assert [each for each in words if each not in seen] == []
    assert next(number) > 20
    assert await watched.page.evaluate("violations") == []
