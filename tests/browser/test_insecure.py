"""The page over plain HTTP on another address than localhost: what browsers then refuse, it does
without. Nobody can sign in there (the cookie is `__Host-`), so a proxy vouches, by a header."""

import socket
from dataclasses import replace

import pytest
from playwright.async_api import Browser, BrowserContext, expect

from holdfast_simulator.server import Config, running
from tests.support.browser import Site, Tab, a_site, open_tab
from tests.support.database import temporary_database
from tests.support.replica import Replicas

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.ui_item(14)]


def own_address() -> str | None:
    """An address of this machine that is not localhost. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        found = str(probe.getsockname()[0])
    return None if found.startswith("127.") else found


@pytest.mark.essential
async def test_without_a_secure_context_things_are_sent_and_copied(
    template: str, browser: Browser
) -> None:
    address = own_address()
    if address is None:
        pytest.skip("this machine has no address but localhost")
    async with (
        temporary_database(template) as url,
        running(Config()) as simulator,
        a_site(Replicas(url, simulator), host="0.0.0.0") as local,
    ):
        site = replace(local, url=f"http://{address}:{local.port}")
        vouched = await browser.new_context(extra_http_headers=local.admin.headers)
        await stranger_is_told(browser, site)
        await sends_and_copies(vouched, site)
        await vouched.close()


async def stranger_is_told(browser: Browser, site: Site) -> None:
    context = await browser.new_context()
    tab = await open_tab(context, site)
    await tab.go()
    await expect(tab.page.get_by_role("alert")).to_contain_text("neither HTTPS nor localhost")
    await context.close()


async def sends_and_copies(context: BrowserContext, site: Site) -> None:
    tab = await open_tab(context, site)
    # The header is sent on every page: behind a proxy the server does not know what the browser
    # speaks. Over plain HTTP the browser ignores the header, and its console says so.
    tab.excused = "Cross-Origin-Opener-Policy header has been ignored"
    await tab.go()
    page = tab.page
    assert await page.evaluate(
        "() => [isSecureContext, typeof crypto.randomUUID, typeof navigator.clipboard]"
    ) == [False, "undefined", "undefined"]
    await page.locator("[data-composer]").wait_for()
    await tab.new_chat('[[sim: say "```python\\nprint(42)\\n```"]]')
    await tab.settled()
    await page.get_by_role("button", name="Copy code").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert await pasted(tab) == "print(42)"
    await tab.say('[[sim: say "again"]]')
    await expect(page.get_by_role("log")).to_contain_text("again")
    tab.content()


async def pasted(tab: Tab) -> str:
    """What was copied, by the only way to know it here."""
    field = tab.page.locator("[data-composer]")
    await field.fill("")
    await field.press("Control+v")
    await expect(field).not_to_have_value("")
    text = await field.input_value()
    await field.fill("")
    return text
