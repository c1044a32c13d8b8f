"""Mutants of the page that only a real browser can notice: each takes away one protection.

    uv run python -m tests.browser.mutants            all of them
    uv run python -m tests.browser.mutants letters    those whose name has this in it

With `--canary` the page as it is is not tested before: another stage of the gate does that.

No file of ours is touched: the page's sources are copied, changed and built beside, and one test is
run before what came of it. That test must fail, and must pass before the page as it is. A mutant
whose text is no longer there is wrong, too: whoever moves a protection moves its mutant.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SERVER: Final = Path("packages/holdfast")
FAILED: Final = 1
"""What pytest answers if tests failed: not if there were none, or if it could not begin."""
LEFT_OUT: Final = shutil.ignore_patterns("node_modules")


@dataclass(frozen=True, slots=True)
class Mutant:
    """`name`: what becomes possible. `test`: who must notice, beneath this folder."""

    name: str
    file: str
    text: str
    instead: str
    test: str


SCROLL: Final = "test_scroll.py::test_"
MUTANTS: Final = (
    Mutant(
        "letters that come late take the place of what is read",
        "src/fonts.css",
        "font-display: optional",
        "font-display: swap",
        SCROLL + "letters_that_come_late_move_nothing",
    ),
    Mutant(
        "text that is laid out anew moves the line in another window",
        "src/features/transcript/use-reading-line.ts",
        "if (line === null || !line.row.isConnected)",
        "if (true)",
        SCROLL + "a_window_of_another_size_does_not_move_the_line",
    ),
    Mutant(
        "text that is laid out anew moves the line beside the list",
        "src/features/transcript/use-reading-line.ts",
        "if (line === null || !line.row.isConnected)",
        "if (true)",
        SCROLL + "the_list_beside_the_chat_comes_and_goes_without_moving_the_line",
    ),
    Mutant(
        "what grows above the eyes pushes the line down",
        "src/features/transcript/use-reading-line.ts",
        "line === null ? undefined : isAbove",
        "() => false",
        SCROLL + "a_picture_that_loads_above_the_eyes_moves_nothing",
    ),
    Mutant(
        "what is opened above the eyes pushes the line down",
        "src/features/transcript/use-reading-line.ts",
        "line === null ? undefined : isAbove",
        "() => false",
        SCROLL + "what_is_opened_and_closed_above_the_eyes_moves_nothing",
    ),
    Mutant(
        "older messages push the line down",
        "src/features/transcript/timeline.tsx",
        'anchorTo: "end",',
        "",
        SCROLL + "older_messages_that_come_above_move_nothing",
    ),
    Mutant(
        "who looks back is pulled to the end",
        "src/features/transcript/follow.ts",
        'return state.mode === "reading" ? state : { ...state, mode: "reading", fresh: 0 };',
        "return state;",
        SCROLL + "who_reads_is_not_moved_by_what_is_said_nor_by_its_end",
    ),
    Mutant(
        "the end is lost when the window becomes lower",
        "src/features/transcript/timeline.tsx",
        "useSigns(scroller, follow.sign, holdEnd);",
        "useSigns(scroller, follow.sign, () => {});",
        SCROLL + "the_end_is_held_when_the_window_becomes_lower",
    ),
    Mutant(
        "pictures of every host are fetched, as far as the policy lets them",
        "src/markdown/links.ts",
        'hosts.split(" ").includes(url.host)',
        "(hosts, true)",
        "test_pictures.py",
    ),
    Mutant(
        "pictures that come move what is below them",
        "src/features/chat/chat.css",
        "block-size: 240px;",
        "",
        "test_pictures.py",
    ),
    Mutant(
        "code is never coloured",
        "src/markdown/highlight.ts",
        "new Worker(trusted(address)",
        "new Worker(address",
        "test_page.py::test_code_is_coloured_in_a_thread_of_its_own",
    ),
    Mutant(
        "a part that is missing loads the page twice",
        "src/app/router.tsx",
        'part(() => import("@/features/settings"))',
        '() => import("@/features/settings")',
        "test_upgrade.py::test_a_part_that_is_really_missing_is_said_and_does_not_load_for_ever",
    ),
    Mutant(
        "keys behind a shortcut go into the message",
        "src/features/find/find-bar.tsx",
        "useLayoutEffect(() => field.current?.focus(), [field]);",
        "useEffect(() => void setTimeout(() => field.current?.focus(), 100), [field]);",
        "test_overlays.py",
    ),
    Mutant(
        "all chats of the list are in the page",
        "src/features/chat-list/sidebar.tsx",
        "overscan: ",
        "overscan: 500 + ",
        "test_budget.py::test_a_list_of_5000_chats_has_few_rows",
    ),
)


async def built(mutant: Mutant, folder: Path) -> Path | None:
    """The page with the change, in a tree like ours; None: its text is not there any more."""
    shutil.copytree(ROOT / "ui", folder / "ui", ignore=LEFT_OUT)
    (folder / "ui" / "node_modules").symlink_to(ROOT / "ui" / "node_modules")
    (folder / SERVER).mkdir(parents=True)
    shutil.copy(ROOT / SERVER / "pyproject.toml", folder / SERVER)
    file = folder / "ui" / mutant.file
    sources = file.read_text()
    if mutant.text not in sources:
        return None
    file.write_text(sources.replace(mutant.text, mutant.instead))
    code, said = await run("npm", "run", "build", folder=folder / "ui")
    assert code == 0, said
    return folder / SERVER / "src" / "holdfast" / "api" / "static"


async def run(
    *command: str, folder: Path = ROOT, more: Mapping[str, str] = MappingProxyType({})
) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, **more},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def run_test(test: str, static: Path | None = None) -> tuple[int, str]:
    name = f"tests/browser/{test}"
    more = {} if static is None else {"HOLDFAST_UI_STATIC": str(static)}
    return await run(sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", name, more=more)


async def verdict(mutant: Mutant) -> str:
    with TemporaryDirectory() as folder:
        static = await built(mutant, Path(folder))
        if static is None:
            return "NOT THERE ANY MORE"
        code, said = await run_test(mutant.test, static)
    why = next((line[2:].strip() for line in said.splitlines() if line.startswith("E ")), "")
    return f"caught: {why[:70]}" if code == FAILED else "SURVIVED"


async def main(wanted: str, *, is_canary: bool) -> int:
    chosen = [mutant for mutant in MUTANTS if wanted in mutant.name]
    wrong = 0 if chosen else 1
    for test in dict.fromkeys(mutant.test for mutant in chosen if not is_canary):
        code, said = await run_test(test)
        if code != 0:
            wrong += 1
            print(f"fails without a mutant: {test}\n{said[-2000:]}", flush=True)
    for mutant in chosen:
        told = await verdict(mutant)
        wrong += not told.startswith("caught")
        print(f"{mutant.name}\n    {told}", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    canary = "--canary" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--canary"]
    sys.exit(asyncio.run(main(" ".join(words), is_canary=canary)))
