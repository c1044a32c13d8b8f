"""One browser for a test process, one server for a file, a browser profile for each test."""

import os
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext

from tests.support.browser import Site, Tab, a_site_of_its_own, chromium, open_tab, why_no_browser


@pytest.fixture(scope="session", autouse=True)
def there_is_a_browser() -> None:
    if (why := why_no_browser()) is not None:
        pytest.fail(why)


@pytest.fixture(scope="session", autouse=True)
def another_page() -> Generator[None]:
    """With `HOLDFAST_UI_STATIC=FOLDER`, the page that was built there: see `mutants.py`."""
    with pytest.MonkeyPatch.context() as patch:
        if (folder := os.environ.get("HOLDFAST_UI_STATIC")) is not None:
            assert (Path(folder) / "index.html").is_file()
            patch.setattr("holdfast.api.app.STATIC", Path(folder))
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(template: str) -> AsyncGenerator[Site]:
    async with a_site_of_its_own(template) as site:
        yield site


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncGenerator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser, site: Site) -> AsyncGenerator[BrowserContext]:
    """Afterwards no tab may have broken the policy, complained, or asked another origin."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    yield context
    await context.close()
    site.content()


@pytest_asyncio.fixture(loop_scope="session")
async def tab(context: BrowserContext, site: Site) -> Tab:
    """Signed in."""
    tab = await open_tab(context, site)
    await tab.sign_in()
    return tab
