"""`just bench-sends`: a thousand cuts of the network around Send, in a real browser.

Writes `send_*` into benchmarks/safety.json. The tests run the same code with fewer messages.
"""

import argparse
import asyncio
import random
from typing import Any, Final

from benchmarks.report import write_json
from tests.support.browser import a_site_of_its_own, chromium, open_tab
from tests.support.database import migrated_template
from tests.support.send_cuts import Cuts, cut_sends

PICTURE: Final = "build/send-cuts.png"
CHATS: Final = 50
MESSAGES: Final = 20


async def cuts(seed: int, chats: int) -> Cuts:
    async with (
        migrated_template() as template,
        a_site_of_its_own(template) as site,
        chromium() as browser,
    ):
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        tab = await open_tab(context, site)
        await tab.sign_in()
        try:
            return await cut_sends(tab, context, seed, chats=chats, messages=MESSAGES)
        except BaseException:
            await tab.page.screenshot(path=PICTURE)
            print(f"seed {seed}; the page as it is: {PICTURE}")
            raise


def figures(found: Cuts, seed: int) -> dict[str, Any]:
    return {
        "send_cuts": found.sent,
        **{f"send_{kind.replace(' ', '_')}": n for kind, n in sorted(found.kinds.items())},
        "send_wrong": len(found.wrong),
        "send_late": len(found.late),
        "send_seed": seed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chats", type=int, default=CHATS, help=f"{MESSAGES} messages each")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    found = figures(asyncio.run(cuts(given.seed, given.chats)), given.seed)
    print(found)
    write_json("safety", found)


if __name__ == "__main__":
    main()
