"""Pictures of the administration: `python -m scripts.admin_pictures FOLDER`, or with all others."""

import asyncio
import sys
from pathlib import Path
from typing import Final

from playwright.async_api import Browser

from scripts.looks import LOOKS, Look
from scripts.ui_stage import Site, a_stage, add
from tests.support.browser import chromium, open_tab

SECTIONS: Final = ("overview", "people", "models", "settings", "rules", "templates", "audit")
RULES: Final = {
    "default": "allow",
    "rules": [
        {"tool": "execute", "action": "ask", "arguments": {"command": {"glob": "git push **"}}},
        {"tool": "write_file", "action": "deny", "arguments": {"path": {"glob": "/etc/**"}}},
    ],
}


async def furnish(site: Site) -> None:
    """Providers, models, people and rules, so that every section has something to show."""
    admin, simulator = site.admin, site.replicas.simulator.url
    for name, vendor, model in (
        ("Acme", "simulator-anthropic", "claude-sonnet-5"),
        ("Second contract", "simulator-responses", "gpt-5.6"),
    ):
        given = {"name": name, "vendor": vendor, "base_url": simulator, "key": f"sk-{vendor}-4711"}
        provider = (await admin.post("organization/providers", given)).json
        added = {"provider_id": provider["id"], "settings": {"model": model}}
        made = await admin.post("organization/models", {"name": model, **added})
        assert made.status == 201, made.raw
    await add(site, "Katherine Johnson")
    bob = {"name": "Bob Kahn", "email": "bob@acme.example"}
    invited = (await admin.post("users", bob)).json
    await admin.post(f"users/{invited['id']}/link")
    said = {"instructions": "Answer in English.\nName the file of every line that you quote."}
    await admin.ask("PATCH", "organization/settings", {"approvals": RULES, **said})


async def administration(browser: Browser, site: Site, look: Look) -> None:
    context = await look.context(browser)
    tab = await open_tab(context, site)
    await tab.sign_in()
    for section in SECTIONS:
        await tab.go(f"/admin/{section}")
        await tab.page.get_by_role("main").get_by_role("heading", level=2).first.wait_for()
        await look.take(tab, f"admin-{section}")
    await context.close()


async def main(folder: Path) -> None:
    async with a_stage() as site, chromium() as browser:
        await furnish(site)
        for name, theme, size in LOOKS:
            await administration(browser, site, Look(name, theme, size, folder))


if __name__ == "__main__":
    wanted = Path(sys.argv[1])
    wanted.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(wanted))
