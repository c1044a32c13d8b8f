"""Plan mode on the page: a plan is asked for, read, and carried out."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from holdfast_lab.chaos.harness.folders import short_folder
from tests.integration.api.test_plan_mode import PLAN, script
from tests.integration.api.test_workspaces import LOCAL
from tests.requirements import requirement
from tests.support.browser import PATIENCE_MS, Site, Tab, a_site_of_its_own

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(template: str) -> AsyncGenerator[Site]:
    """With workspaces, for the file of the plan."""
    with short_folder() as folder:
        more = {"templates": [LOCAL], "workspaces_folder": folder / "w"}
        async with a_site_of_its_own(template, **more) as site:
            yield site


@requirement("F18")
async def test_a_plan_is_proposed_read_and_implemented(tab: Tab) -> None:
    page = tab.page
    log, mode = page.get_by_role("log"), page.get_by_role("button", name="Plan mode")
    chat_id = await tab.new_chat('[[sim: say "hello"]]')
    await tab.settled()
    await expect(mode).to_have_attribute("aria-pressed", "false")
    await mode.click()
    path = f".holdfast/plans/PLAN-{chat_id}.md"
    write = ("write_file", {"path": path, "content": PLAN})
    await tab.say(script(("create_workspace", {}), write, ("propose_plan", {"path": path})))

    plan = page.get_by_role("region", name="Proposed plan")
    await expect(plan.get_by_role("heading", name="Rename it")).to_be_visible(timeout=PATIENCE_MS)
    await expect(plan.get_by_role("listitem")).to_have_text(["Change a.py.", "Run the tests."])
    await tab.settled()
    await expect(log).not_to_contain_text("Stopped")
    await expect(mode).to_have_attribute("aria-pressed", "true")
    assert (await tab.site.admin.get(f"chats/{chat_id}")).json["plan_mode"] is True

    await plan.get_by_role("button", name="Implement").click()
    await expect(log).to_contain_text("Implement the plan.")
    await expect(mode).to_have_attribute("aria-pressed", "false", timeout=PATIENCE_MS)
    await tab.site.admin.until(chat_id, "idle")  # the model may call any tool by now
    assert (await tab.site.admin.get(f"chats/{chat_id}")).json["plan_mode"] is False
    await expect(plan).to_be_visible()
    await expect(plan.get_by_role("button", name="Implement")).to_have_count(0)
    tab.content()
