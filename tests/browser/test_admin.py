"""The administration: from sign-in to an answer of an added provider, people, rules, audit."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from tests.support.browser import Site, Tab, a_site_of_its_own, open_tab
from tests.support.identity import PASSWORD

pytestmark = pytest.mark.asyncio(loop_scope="session")

WRONG_KEY: Final = "sim-until-1"
"""A key that the simulator refuses."""


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "master.key"
    file.touch(mode=0o600)
    file.write_text("11" * 32)
    return file


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(template: str, key_file: Path) -> AsyncGenerator[Site]:
    async with a_site_of_its_own(template, master_key_file=key_file) as site:
        yield site


SECTIONS: Final = {
    "overview": "Checks",
    "people": "Wilhelmina",
    "models": "long-long",
    "settings": "Instructions",
    "rules": "Try a call",
    "templates": "Workspace templates",
    "audit": "model.created",
}
"""And a text that is there once the section is."""


async def add_provider(tab: Tab, name: str, *, key: str, address: str) -> None:
    page = tab.page
    await page.get_by_label("Vendor").select_option("simulator-anthropic")
    await page.get_by_label("Provider name").fill(name)
    await page.get_by_label("API key", exact=True).fill(key)
    await page.get_by_label("Address", exact=True).fill(address)
    await page.get_by_role("button", name="Add provider").click()


def row(tab: Tab, text: str) -> Locator:
    return tab.page.get_by_role("row").filter(has_text=text)


@pytest.mark.essential
async def test_from_sign_in_to_an_answer_of_a_provider_that_was_just_added(tab: Tab) -> None:
    page, simulator = tab.page, tab.site.replicas.simulator
    await page.get_by_role("button", name=re.compile("Ada")).click()
    await page.get_by_role("menuitem", name="Administration").click()
    await page.get_by_role("link", name="Providers and models").click()
    await add_provider(tab, "Acme", key="sk-acme-4711", address=simulator.url)

    found = page.get_by_role("dialog", name="Find models of Acme")
    await found.get_by_label("claude-sonnet-5").check()
    await found.get_by_role("button", name="Add 1 model").click()
    await expect(found).to_have_count(0)
    added = row(tab, "claude-sonnet-5")
    await expect(added).to_contain_text("available")
    await added.get_by_role("button", name="Test claude-sonnet-5").click()
    await expect(added).to_contain_text("Answered in")
    await added.get_by_role("button", name="Make default").click()
    await expect(added).to_contain_text("default")

    await page.get_by_role("link", name="New chat").first.click()
    await page.locator("[data-composer]").fill('[[sim: say "Hello from Acme."]]')
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("log")).to_contain_text("Hello from Acme.")
    await expect(page.get_by_role("main")).to_contain_text("claude-sonnet-5")
    tab.content()


async def test_wrong_key_wrong_model_and_no_network_say_the_words_of_the_provider(tab: Tab) -> None:
    page, simulator = tab.page, tab.site.replicas.simulator
    await tab.go("/admin/models")

    await add_provider(tab, "Wrong key", key=WRONG_KEY, address=simulator.url)
    found = page.get_by_role("dialog", name="Find models of Wrong key")
    await expect(found.get_by_role("alert")).to_contain_text("invalid x-api-key")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Replace the key of Wrong key").click()
    asked = page.get_by_role("dialog", name="Replace the key of Wrong key")
    await asked.get_by_label("New API key").fill("sk-a-right-key-4712")
    await asked.get_by_role("button", name="Replace key").click()
    await expect(asked).to_have_count(0)
    await expect(page.get_by_text("Key …4712")).to_be_visible()

    await page.get_by_role("button", name="Find models of Wrong key").click()
    await found.get_by_label("Model name").fill("no-such-model")
    await found.get_by_role("button", name="Add 1 model").click()
    wrong = row(tab, "no-such-model")
    await wrong.get_by_role("button", name="Test").click()
    await expect(wrong).to_contain_text("model: no-such-model")

    await add_provider(tab, "Away", key="sk-away-4713", address="http://127.0.0.1:9")
    away = page.get_by_role("dialog", name="Find models of Away")
    await expect(away.get_by_role("alert")).to_contain_text("Connect call failed")
    await page.keyboard.press("Escape")

    provider = page.get_by_role("listitem").filter(has_text="Wrong key")
    await provider.get_by_role("button", name="Disable").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Disable").click()
    await expect(wrong).to_contain_text("unavailable: its provider is disabled")
    tab.content()


async def test_an_invited_person_sets_a_password_and_is_signed_in(
    tab: Tab, browser: Browser
) -> None:
    page = tab.page
    await tab.go("/admin/people")
    await page.get_by_label("Name", exact=True).fill("Bob")
    await page.get_by_label("E-mail", exact=True).fill("bob@acme.example")
    await page.get_by_role("button", name="Add and make link").click()
    link = await page.get_by_role("dialog").get_by_label("Link", exact=True).input_value()
    await page.keyboard.press("Escape")
    await expect(row(tab, "Bob")).to_contain_text("invited")
    await expect(row(tab, "Bob")).to_contain_text("never")

    context = await browser.new_context()
    bob = await open_tab(context, tab.site)
    await bob.page.goto(link)
    await bob.page.get_by_label("New password").fill("short")
    await bob.page.get_by_role("button", name="Set password").click()
    await expect(bob.page.get_by_role("alert")).to_contain_text("has 12 to 1024 characters")
    await bob.page.get_by_label("New password").fill(PASSWORD)
    await bob.page.get_by_role("button", name="Set password").click()
    await expect(bob.page.locator("[data-composer]")).to_be_visible()
    assert "invite" not in bob.page.url
    await bob.page.goto("about:blank")
    await bob.page.goto(link)
    await bob.page.get_by_label("New password").fill(PASSWORD)
    await bob.page.get_by_role("button", name="Set password").click()
    await expect(bob.page.get_by_role("alert")).to_contain_text("Ask an administrator")

    await page.reload()
    await expect(row(tab, "Bob")).to_contain_text("1 session")
    await page.get_by_role("button", name="Actions for Bob").click()
    await page.get_by_role("menuitem", name="Sign out everywhere").click()
    await expect(row(tab, "Bob")).not_to_contain_text("session")
    await bob.page.goto(tab.site.url)
    await expect(bob.page.get_by_role("button", name="Sign in")).to_be_visible()
    await context.close()

    await tab.go("/admin/audit?kind=user")
    await expect(row(tab, "user.link_created")).to_contain_text("Bob")
    await expect(row(tab, "user.link_created")).to_contain_text("Ada")
    await page.get_by_label("Kind of action").select_option("password")
    await expect(row(tab, "password.set_by_link")).to_be_visible()
    await expect(row(tab, "user.link_created")).to_have_count(0)
    tab.content()


async def test_rules_are_tried_before_they_are_saved(tab: Tab) -> None:
    page = tab.page
    await tab.go("/admin/rules")
    box = page.get_by_role("region", name="Try a call")
    await box.get_by_role("button", name="Try").click()
    await expect(box.get_by_role("status")).to_contain_text("The call runs.")
    await page.get_by_role("button", name="Add rule").click()
    rule = page.get_by_role("listitem", name="Rule 1")
    await rule.get_by_label("Tool", exact=True).fill("execute")
    await rule.get_by_role("button", name="Add an argument to rule 1").click()
    await rule.get_by_label("Pattern", exact=True).fill("git push **")
    await expect(page.get_by_text("Not saved yet.")).to_be_visible()
    await box.get_by_role("button", name="Try").click()
    await expect(box.get_by_role("status")).to_contain_text("The call waits for an approval.")
    await expect(box.get_by_role("status")).to_contain_text("Organisation, rule 1")
    assert (await tab.site.admin.get("organization/approvals")).json["organization"]["rules"] == []

    await box.get_by_label("Arguments, as JSON").fill('{"command": "git status"}')
    await box.get_by_role("button", name="Try").click()
    await expect(box.get_by_role("status")).to_contain_text("The call runs.")
    await page.get_by_role("button", name="Save rules").click()
    await expect(page.get_by_text("Not saved yet.")).to_have_count(0)
    await page.reload()
    await expect(rule.get_by_label("Pattern", exact=True)).to_have_value("git push **")
    tab.content()


async def test_of_two_admins_the_second_sees_the_change_and_keeps_the_draft(tab: Tab) -> None:
    page, admin = tab.page, tab.site.admin
    await tab.go("/admin/settings")
    await page.get_by_label("Instructions").fill("Mine.")
    await page.get_by_label("Max steps per turn").fill("40")
    other = {"instructions": "Theirs.", "compaction_percent": 60}
    assert (await admin.ask("PATCH", "organization/settings", other)).status == 200
    await page.get_by_role("button", name="Save").click()
    notice = page.get_by_role("alert")
    await expect(notice).to_contain_text("Another administrator saved a change meanwhile.")
    await expect(notice).to_contain_text("Instructions: nothing → Theirs.")
    await expect(notice.get_by_role("listitem")).to_have_count(2)
    await expect(page.get_by_label("Instructions")).to_have_value("Mine.")
    assert (await admin.get("organization/settings")).json["instructions"] == "Theirs."
    await page.get_by_role("button", name="Save").click()
    await expect(notice).to_have_count(0)
    saved = (await admin.get("organization/settings")).json
    shown = (saved["instructions"], saved["max_steps_per_turn"], saved["compaction_percent"])
    assert shown == ("Mine.", 40, 60)

    simulator = {"vendor": "simulator-anthropic", "base_url": tab.site.replicas.simulator.url}
    given = {"name": "Contested", "key": "sk-contested-4711", **simulator}
    made = (await admin.post("organization/providers", given)).json
    await tab.go("/admin/models")
    provider = page.get_by_role("listitem").filter(has_text="Contested")
    await provider.get_by_role("button", name="Delete").wait_for()
    where = f"organization/providers/{made['id']}"
    await admin.ask("PATCH", where, {"name": "Contested, and needed"})
    await provider.get_by_role("button", name="Delete").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    told = "Another administrator changed Contested meanwhile: Provider name: Contested →"
    # A screen reader is told the same text, in an element beside.
    toasts = page.get_by_role("region", name="Notifications (F8)")
    await expect(toasts.get_by_text(told)).to_be_visible()
    assert (await admin.get(where)).status == 200, "nothing was done"
    tab.content()


PHONE_PX: Final = 360
TOO_WIDE: Final = """() => [...document.querySelectorAll('html, main, main *')]
  .filter((each) => each.checkVisibility() && !each.closest('.sr-only, select, input, textarea'))
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 1)
  .filter((each) => getComputedStyle(each).display !== 'inline')
  .map((each) => `${each.tagName} ${each.className} ${(each.innerText ?? '').slice(0, 60)}`)"""
"""Also what scrolls by itself: there is nothing that must."""


async def test_no_section_is_cut_off_on_a_phone(tab: Tab) -> None:
    page, admin = tab.page, tab.site.admin
    person = {"name": "Wilhelmina Featherstonehaugh", "email": f"{'w' * 40}@acme.example"}
    await admin.post("users", person)
    simulator = {"vendor": "simulator-anthropic", "base_url": tab.site.replicas.simulator.url}
    named = {"name": "The contract of the second division", **simulator}
    provider = (await admin.post("organization/providers", named)).json["id"]
    model = {"name": f"{'long-' * 12}model", "provider_id": provider}
    assert (await admin.post("organization/models", model)).status == 201
    await page.set_viewport_size({"width": PHONE_PX, "height": 780})
    seen: dict[str, list[str]] = {}
    for section, shows in SECTIONS.items():
        await tab.go(f"/admin/{section}")
        await page.get_by_role("main").get_by_text(shows).first.wait_for()
        seen[section] = await page.evaluate(TOO_WIDE)
    assert {section: found for section, found in seen.items() if found} == {}
    tab.content()


async def test_the_invitation_is_one_row_on_a_desk_and_its_label_one_line(tab: Tab) -> None:
    page = tab.page
    await page.set_viewport_size({"width": 1200, "height": 760})
    await tab.go("/admin/people")
    button = page.get_by_role("button", name="Add and make link")
    role = await page.get_by_label("Role").bounding_box()
    placed = await button.bounding_box()
    assert role is not None
    assert placed is not None
    assert role["y"] <= placed["y"] < role["y"] + role["height"], "beside the fields"
    assert placed["height"] <= role["height"], "the label is one line"
    tab.content()


async def test_overview_says_how_the_server_is(tab: Tab) -> None:
    page = tab.page
    await page.get_by_role("button", name=re.compile("Ada")).click()
    await page.get_by_role("menuitem", name="Administration").click()
    await page.wait_for_url("**/admin/overview")
    await expect(page.get_by_text("Keys of providers are stored encrypted.")).to_be_visible()
    workers = page.get_by_role("region", name="Workers")
    await expect(workers.get_by_role("cell", name="running").first).to_be_visible()
    tab.content()


async def test_an_admin_stops_a_chat_of_the_organisation(tab: Tab) -> None:
    page = tab.page
    chat_id = await tab.site.admin.new_chat("[[sim: words=4000 | rate=25]]")
    await page.goto(f"{tab.site.url}/admin/chats")
    running = row(tab, chat_id)
    await expect(running).to_contain_text("Running")
    await running.get_by_role("button", name="Stop this chat of Ada").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Stop").click()
    await expect(page.get_by_text("The chat of Ada was stopped.", exact=True)).to_be_visible()
    # Asked again every few seconds: it may be "Stopping" at first.
    await expect(running).to_contain_text("At rest", timeout=30_000)
    await expect(running.get_by_role("button")).to_have_count(0)
