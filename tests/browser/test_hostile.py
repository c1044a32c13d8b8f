"""Whatever a model, a person or a tool writes: nothing of it runs, loads or leads astray."""

import json
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.support.browser import PATIENCE_MS, Site, Tab, open_tab

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(19)]

RUN = "globalThis.ran=1"
EVIL = "https://evil.example"
CORPUS = (
    f"[a link](javascript:{RUN})",
    f"[a link](JaVaScRiPt:{RUN})",
    f"[a link](java\nscript:{RUN})",
    f"[a link](&#106;avascript:{RUN})",
    f"[a link](\u0001javascript:{RUN})",
    f"[a link](vbscript:{RUN})",
    f"[a link](data:text/html,<script>{RUN}</script>)",
    "[a link](blob:https://evil.example/1)",
    "[a link](/api/v1/me)",
    "[a link](//evil.example/x)",
    "[a link](https://bank.example@evil.example/)",
    f"[ref][r]\n\n[r]: javascript:{RUN}",
    f"<javascript:{RUN}>",
    f"<a href='javascript:{RUN}'>raw</a>",
    f"<script>{RUN}</script>",
    f"<img src={EVIL}/i.png onerror={RUN}>",
    f"<svg onload={RUN}><a href='javascript:{RUN}'><text>x</text></a></svg>",
    f"<svg><script>{RUN}</script></svg>",
    f"<iframe src='{EVIL}' srcdoc='<script>{RUN}</script>'></iframe>",
    f"<object data='{EVIL}'></object><embed src='{EVIL}'>",
    f"<form action='{EVIL}'><button>Sign in again</button></form>",
    f"<style>@import '{EVIL}/s.css'; * {{ display: none }}</style>",
    f"<link rel=stylesheet href='{EVIL}/s.css'><base href='{EVIL}/'>",
    f"<meta http-equiv=refresh content='0;url={EVIL}'>",
    f"<video src='{EVIL}/v.mp4' poster='{EVIL}/p.png' autoplay></video>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<math><mtext><img src=x onerror={RUN}></mtext></math>",
    f"![a picture]({EVIL}/p.png)",
    f"![a picture](javascript:{RUN})",
    "![a picture](data:image/svg+xml,<svg onload='globalThis.ran=1'/>)",
    "![a picture](/api/v1/me)",
    f"[![nested]({EVIL}/p.png)](javascript:{RUN})",
    f"```html\n<script>{RUN}</script>\n```",
    f"```{EVIL}/x.js\ncode\n```",
    f"| a |\n| - |\n| <img src={EVIL} onerror={RUN}> |",
    f"- [x] <img src={EVIL} onerror={RUN}>",
    f"Footnote[^1]\n\n[^1]: [x](javascript:{RUN})",
    "user\u202egnp.exe and zero\u200bwidth and \u2066isolated\u2069",
    f"www.evil.example and {EVIL}/auto and mailto:a@evil.example",
    "a" * 3000,
)
LOOK_UP: dict[str, Any] = {
    "name": "look_up",
    "description": "Looks up.",
    "input_schema": {"type": "object"},
}

WATCH = """
  globalThis.violations = [];
  addEventListener('securitypolicyviolation', event =>
    violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
FOUND = """() => {
  const own = document.querySelector('main [role=log]');
  const bad = [...own.querySelectorAll(
    'script, iframe, object, embed, img, video, audio, source, style, link, base, meta, form,' +
    'math,' +
    'input:not([type=checkbox][disabled])'
  )].map(each => each.outerHTML.slice(0, 80));
  for (const each of own.querySelectorAll('*')) {
    for (const { name, value } of each.attributes) {
      if (name.startsWith('on')) bad.push(`${name}=${value}`);
      if (/^\\s*(javascript|data|vbscript|blob):/i.test(value)) bad.push(`${name}=${value}`);
    }
  }
  for (const link of own.querySelectorAll('a')) {
    const whole = /^(https?:\\/\\/|mailto:)/.test(link.getAttribute('href') ?? '');
    const apart = link.target === '_blank' && link.rel === 'noopener noreferrer';
    const own = link.host === location.host || link.username !== '';
    if (!whole || !apart || own) bad.push(link.outerHTML.slice(0, 120));
  }
  return bad;
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def watched(browser: Browser, site: Site) -> Any:
    context = await browser.new_context(viewport={"width": 1280, "height": 4000})
    await context.add_init_script(WATCH)
    tab = await open_tab(context, site)
    tab.page.on("popup", lambda page: tab.complaints.append(f"a window: {page.url}"))
    tab.page.on("dialog", lambda dialog: tab.complaints.append(f"a dialog: {dialog.message}"))
    await tab.sign_in()
    yield tab
    await context.close()


def saying(text: str) -> str:
    return f"[[sim: say {json.dumps(text)}]]"


async def harmless(tab: Tab) -> None:
    page = tab.page
    assert await page.evaluate(FOUND) == []
    assert await page.evaluate("() => [globalThis.ran, violations]") == [None, []]
    assert tab.foreign == []
    tab.content()


async def look_at_all(page: Page) -> None:
    """Every row, from the top to the end, and a hand over every link."""
    await page.get_by_role("log").focus()
    await page.keyboard.press("Home")
    for link in await page.get_by_role("log").get_by_role("link").all():
        await link.hover()
        await link.focus()


@pytest.mark.essential
async def test_nothing_of_what_a_model_says_runs_or_loads(watched: Tab) -> None:
    tab = watched
    await tab.new_chat(saying(CORPUS[0]))
    await tab.settled()
    for at in range(0, len(CORPUS), 10):
        await tab.say(saying("\n\n".join((*CORPUS[at : at + 10], f"end{at}"))))
        answer = tab.page.locator("article p").get_by_text(f"end{at}", exact=True)
        await expect(answer.last).to_be_visible(timeout=PATIENCE_MS)
        await tab.settled()
        await look_at_all(tab.page)
        await harmless(tab)
    await tab.page.reload()
    await expect(tab.page.get_by_role("log")).to_contain_text("end30")
    await look_at_all(tab.page)
    await harmless(tab)


async def test_nothing_of_what_is_half_said_runs_or_loads(watched: Tab) -> None:
    """While it is being said, what is not closed yet is drawn as if it were."""
    tab = watched
    text = f"![p]({EVIL}/p.png) [l](javascript:{RUN}) <img src={EVIL}/i.png onerror={RUN}>"
    await tab.new_chat(f"[[sim: say {json.dumps(' '.join([text] * 12))} | rate=60]]")
    await expect(tab.page.get_by_role("button", name="Stop")).to_be_visible(timeout=PATIENCE_MS)
    while await tab.page.get_by_role("button", name="Stop").count() > 0:
        await harmless(tab)
    await harmless(tab)


async def test_nothing_of_what_a_person_writes_runs_or_loads(watched: Tab, site: Site) -> None:
    tab = watched
    chat_id = await site.admin.new_chat("\n\n".join((saying("I see."), *CORPUS[:-1])))
    await site.admin.ask("PATCH", f"chats/{chat_id}", {"title": f"<img src={EVIL}/t>\u202e"})
    await tab.go(f"/chats/{chat_id}")
    await expect(tab.page.get_by_role("log")).to_contain_text("auto")
    more = tab.page.get_by_role("button", name="Show all")
    if await more.count() > 0:
        await more.first.click()
    await harmless(tab)


@pytest.mark.essential
async def test_what_cannot_be_seen_in_an_argument_is_shown_and_a_result_is_text(
    watched: Tab, site: Site
) -> None:
    tab, page = watched, watched.page
    call = json.dumps(
        {"path": "safe\u202etxt.exe\u200b", "html": f"<img src={EVIL} onerror={RUN}>"}
    )
    body = {
        "tools": [LOOK_UP],
        "message": {"text": f'[[sim: call look_up {call} | then | say "so"]]'},
    }
    chat_id = (await site.admin.post("chats", body)).json["chat_id"]
    await tab.go(f"/chats/{chat_id}")
    waiting = page.get_by_role("region", name="Waiting for look_up")
    await expect(waiting).to_be_visible(timeout=PATIENCE_MS)
    await expect(waiting).to_contain_text("U+202E")
    await expect(waiting).to_contain_text("U+200B")
    await harmless(tab)
    chat = await site.admin.until(chat_id, "awaiting")
    call_id = chat["action_required"]["calls"][0]["call_id"]
    output = "\n\n".join(CORPUS[:-1])
    given = {"results": [{"call_id": call_id, "output": output}]}
    assert (await site.admin.post(f"chats/{chat_id}/tool-results", given)).status == 202
    await tab.settled()
    await page.locator(".tool-card [aria-expanded=false]").click()
    await expect(page.locator(".tool-card")).to_contain_text("<script>")
    await harmless(tab)


async def test_the_corpus_would_be_noticed(watched: Tab) -> None:
    """What looks for harm finds it: a page that draws what it is told has all of it."""
    await watched.new_chat(saying("Hello."))
    await watched.settled()
    await watched.page.evaluate(
        """() => {
          const log = document.querySelector('main [role=log]');
          const link = document.createElement('a');
          link.setAttribute('href', 'javascript:void 0');
          log.append(link, document.createElement('iframe'));
        }"""
    )
    assert len(await watched.page.evaluate(FOUND)) == 3
