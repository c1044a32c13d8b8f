"""A search of the web, from the toggle beside the message to the sources beside the answer."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from holdfast_simulator.server import Config, running
from tests.support.browser import Site, Tab, a_site, open_tab
from tests.support.database import temporary_database
from tests.support.replica import Replicas

pytestmark = pytest.mark.asyncio(loop_scope="session")

SEARCHING = {
    "name": "able",
    "vendor": "simulator-anthropic",
    "model": "claude-opus-5-5",
    "api_key": "k",
    "provider_tools": [{"name": "web_search"}],
    "web": False,
}
ASKED = 'What is new? [[sim: search "tide tables"]]'


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(template: str) -> AsyncGenerator[Site]:
    async with temporary_database(template) as url, running(Config(hang_max_s=20)) as simulator:
        models = [{**SEARCHING, "base_url": simulator.url}]
        more = {"models": models, "default_model": "able"}
        async with a_site(Replicas(url, simulator), **more) as site:
            yield site


async def test_an_answer_from_the_web_has_its_sources_inline_and_below(tab: Tab) -> None:
    page = tab.page
    toggle = page.get_by_role("button", name="Web search")
    await expect(toggle).to_have_attribute("aria-pressed", "false")
    await toggle.click()
    await expect(toggle).to_have_attribute("aria-pressed", "true")
    await tab.new_chat(ASKED)
    log = page.get_by_role("log")
    await expect(log).to_contain_text("still lists it as open")
    await tab.settled()

    cited = log.locator("a[href='https://example.com/field-notes']")
    await expect(cited.first).to_be_visible()
    assert await cited.first.inner_text() in ("1", "[1]")
    sources = page.get_by_role("list", name="Sources").get_by_role("link")
    await expect(sources).to_have_count(1)  # of the two that were found, the one that is cited
    await expect(sources).to_contain_text("Field notes")
    tab.content()


async def test_another_browser_shows_what_the_chat_says_of_the_web(
    tab: Tab, context: BrowserContext
) -> None:
    """The toggle begins with the chat's fact, not with the standard of the model."""
    site = tab.site
    said = {"text": "Hi", "web": True}
    chat_id = (await site.admin.post("chats", {"message": said})).json["chat_id"]
    other = await open_tab(context, site)
    await other.go(f"/chats/{chat_id}")
    toggle = other.page.get_by_role("button", name="Web search")
    await expect(toggle).to_have_attribute("aria-pressed", "true")
    await site.admin.post(f"chats/{chat_id}/messages", {"text": "Hi again", "web": False})
    await expect(toggle).to_have_attribute("aria-pressed", "false")
