"""What goes wrong at the provider: a countdown that is true, a way to hurry it, and a way on."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator
from datetime import datetime

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from holdfast_simulator.server import Config, running
from tests.requirements import requirement
from tests.support.browser import PATIENCE_MS, Site, Tab, a_site, open_tab
from tests.support.database import temporary_database
from tests.support.numbered import messages_of
from tests.support.replica import API_KEY, Replicas

pytestmark = pytest.mark.asyncio(loop_scope="session")

COUNTDOWN = re.compile(r"Trying again in (\d+) s")
IS_RIGHT = """([until, within, below]) => {
  const log = document.querySelector("[role=log]")?.innerText ?? "";
  const shown = log.match(/Trying again in (\\d+) s/);
  if (!shown || Number(shown[1]) >= below) return null;
  const now = (performance.timeOrigin + performance.now()) / 1000;
  return Math.abs(Number(shown[1]) - (until - now)) <= within ? { left: Number(shown[1]) } : null;
}"""
"""The seconds that are shown, once they are below a number and right, by a clock that is never put
wrong. A page that is drawn late is right when it is drawn."""
LONG_S = 45
"""A wait that no test sits through."""
WAITED_S = 20
"""One that a test waits for, and in which a page can be loaded again."""
WRONG_BY_S = 300
SKEW = f"""
const trueNow = Date.now.bind(Date);
Date.now = () => trueNow() + {WRONG_BY_S * 1000};
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(template: str) -> AsyncGenerator[Site]:
    """With two models."""
    async with temporary_database(template) as url, running(Config()) as simulator:
        models = [
            {
                "name": name,
                "vendor": "simulator-anthropic",
                "model": "claude-sonnet-5",
                "base_url": simulator.url,
                "api_key": API_KEY,
            }
            for name in ("sim", "other")
        ]
        async with a_site(Replicas(url, simulator), models=models) as site:
            yield site


@pytest.fixture
def long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator asks for much patience: what a test does meanwhile may take its time."""
    monkeypatch.setattr("holdfast_simulator.answers.RETRY_S", LONG_S)


async def deadline(tab: Tab, chat_id: str) -> float:
    """Until when the server waits, as it tells another reader."""
    async with asyncio.timeout(PATIENCE_MS / 1000), tab.site.admin.stream(chat_id) as events:
        async for event in events:
            retry = event["data"]["retry"] if event["type"] == "chat.state" else None
            if retry is not None:
                return datetime.fromisoformat(retry["next_attempt_at"]).timestamp()
    raise AssertionError("no retry was told")


def notice(tab: Tab) -> Locator:
    return tab.page.get_by_text(COUNTDOWN)


def limited(word: str) -> str:
    """429, come back in seven seconds (or see `long_wait`); then the word. A fault strikes so often
    for one prompt."""
    return f'[[sim: say "{word}" | fault=rate-limit-seconds | times=1]]'


async def assert_counts_down(tab: Tab, chat_id: str, within_s: float = 1.0) -> None:
    until = await deadline(tab, chat_id)
    below = LONG_S * 2
    for _ in range(3):
        shown = await tab.page.wait_for_function(IS_RIGHT, arg=[until, within_s, below])
        below = (await shown.json_value())["left"]


async def assert_answered(tab: Tab, chat_id: str, text: str) -> None:
    await tab.site.admin.until(chat_id, "idle", within_s=60)
    last = (await messages_of(tab.site.admin, chat_id))[-1]
    assert last["parts"][-1]["text"] == text
    shown = tab.page.locator(f"[data-key='m{last['seq']}.0']")
    await expect(shown).to_have_text(text)
    await expect(notice(tab)).to_have_count(0)


@requirement("F09")
@pytest.mark.ui_item(8)
async def test_the_countdown_is_that_of_the_server_also_after_a_reload(
    tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And when it is over, the turn goes on by itself."""
    monkeypatch.setattr("holdfast_simulator.answers.RETRY_S", WAITED_S)
    await tab.watch()
    chat_id = await tab.new_chat(limited("at last"))
    await assert_counts_down(tab, chat_id)
    await tab.page.reload()
    await assert_counts_down(tab, chat_id)
    await assert_answered(tab, chat_id, "at last")
    assert (await tab.seen()).alerts == []


@requirement("F09")
@pytest.mark.ui_item(8)
@pytest.mark.usefixtures("long_wait")
async def test_try_now_is_now(tab: Tab) -> None:
    chat_id = await tab.new_chat(limited("at once"))
    until = await deadline(tab, chat_id)
    await tab.page.get_by_role("button", name="Try now").click()
    await assert_answered(tab, chat_id, "at once")
    assert time.time() < until, "it did not wait"


@requirement("F09")
@pytest.mark.essential
@pytest.mark.ui_item(8)
@pytest.mark.usefixtures("long_wait")
async def test_the_countdown_is_right_where_the_clock_is_wrong(
    context: BrowserContext, site: Site
) -> None:
    tab = await open_tab(context, site)
    await tab.page.add_init_script(SKEW)
    await tab.sign_in()
    chat_id = await tab.new_chat(limited("in time"))
    await assert_counts_down(tab, chat_id, within_s=2.0)  # HTTP tells the time in whole seconds
    await tab.page.get_by_role("button", name="Try now").click()
    await assert_answered(tab, chat_id, "in time")


@requirement("F09")
@pytest.mark.ui_item(8)
@pytest.mark.usefixtures("long_wait")
async def test_a_retry_that_waits_can_be_stopped(tab: Tab) -> None:
    chat_id = await tab.new_chat(limited("never said"))
    await expect(notice(tab)).to_be_visible(timeout=PATIENCE_MS)
    await tab.page.get_by_role("button", name="Stop", exact=True).first.click()
    await tab.site.admin.until(chat_id, "idle")
    await expect(notice(tab)).to_have_count(0)
    await expect(tab.page.get_by_role("button", name="Continue")).to_be_visible()


@requirement("F09")
@pytest.mark.essential
@pytest.mark.ui_item(8)
async def test_a_failure_says_why_and_retry_runs_it_again(tab: Tab) -> None:
    chat_id = await tab.new_chat('[[sim: say "now it works" | fault=unauthorized | times=1]]')
    await tab.site.admin.until(chat_id, "failed")
    retry = tab.page.get_by_role("button", name="Retry", exact=True)
    await expect(retry).to_be_visible()
    await expect(tab.page.get_by_text("refuses the server's key")).to_be_visible()
    await tab.page.reload()
    await retry.click()
    await assert_answered(tab, chat_id, "now it works")
    await expect(retry).to_have_count(0)
    messages = await messages_of(tab.site.admin, chat_id)
    assert [each["role"] for each in messages] == ["user", "assistant"], "said once"


@requirement("F09")
@pytest.mark.ui_item(8)
async def test_a_failed_turn_is_run_again_with_another_model(tab: Tab) -> None:
    chat_id = await tab.new_chat('[[sim: say "the other can" | fault=unauthorized | times=1]]')
    await tab.page.get_by_role("button", name="Retry with…").click()
    await tab.page.get_by_role("menuitem", name="other").click()
    await assert_answered(tab, chat_id, "the other can")
    assert (await messages_of(tab.site.admin, chat_id))[-1]["model"] == "other"


@requirement("F09")
@pytest.mark.ui_item(8)
async def test_a_retry_that_does_not_reach_the_server_is_said(tab: Tab) -> None:
    await tab.new_chat('[[sim: say "x" | fault=unauthorized | times=1]]')
    await tab.page.route("**/retry", lambda route: route.fulfill(status=409, body="{}"))
    for press in ("Retry", "Retry with…"):
        await tab.page.reload()
        await tab.page.get_by_role("button", name=press, exact=True).click()
        if press != "Retry":
            await tab.page.get_by_role("menuitem", name="other").click()
        alert = tab.page.get_by_role("log").get_by_role("alert")
        await expect(alert).to_have_text(re.compile(r"\w"))
