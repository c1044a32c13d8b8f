"""The first minutes in a browser: `holdfast dev`, its link, the suggestions of the page."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from holdfast_lab.chaos.harness.folders import short_folder
from holdfast_lab.chaos.harness.ports import quiet_port
from scripts.first_visit import ANSWERS, ask, link_in
from tests.support.dev import dev

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def folder() -> Generator[Path]:
    with short_folder() as made:
        yield made


@pytest.mark.essential
@pytest.mark.timeout(300)
async def test_from_the_link_to_a_true_answer_for_each_suggestion(
    browser: Browser, folder: Path
) -> None:
    # A port that is known beforehand: the page of `--port 0` is of an origin that no setting names.
    async with dev(folder / "data", "--port", str(quiet_port())) as running:
        link = link_in("\n".join(running.lines))
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        page = await context.new_page()
        await page.goto(link)
        for suggestion in ANSWERS:
            if suggestion == "Run something" and any("commands" in each for each in running.lines):
                continue  # no bubblewrap here, and `holdfast dev` has said so
            said = await ask(page, suggestion)
            assert "$0" not in said, "a simulated turn has no price"
            assert "once=" not in page.url
            await page.goto(running.url)
        add = page.get_by_role("complementary").get_by_role("link", name="Add a model")
        await add.click()
        await expect(page.get_by_label("Vendor")).to_be_visible()

        other = await (await browser.new_context()).new_page()
        await other.goto(link)
        await expect(other.get_by_role("alert")).to_contain_text("has been used, or has expired")
        assert "once=" not in other.url
