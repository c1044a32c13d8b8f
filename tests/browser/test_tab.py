"""Who watches the watchers: what a tab must complain of, it does."""

import pytest
from playwright.async_api import BrowserContext

from tests.support.browser import Site, open_tab, until

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.ui_item(19)
@pytest.mark.parametrize(
    ("harm", "seen"),
    [
        pytest.param(
            "document.body.append(Object.assign(new Image(), {src: '//other.example/x'}))",
            "policy",
            marks=pytest.mark.essential,
        ),
        ("fetch('http://other.example/x').catch(() => {})", "policy"),
        ("setTimeout(() => { throw new Error('broken') })", "broken"),
        ("console.error('unhappy')", "unhappy"),
    ],
)
async def test_a_tab_tells_of_harm(
    context: BrowserContext, site: Site, harm: str, seen: str
) -> None:
    tab = await open_tab(context, site)
    await tab.go()
    await tab.page.evaluate(f"() => {{ {harm} }}")
    await until(lambda: any(seen in complaint for complaint in tab.complaints))
    with pytest.raises(AssertionError):
        site.content()
