"""The commands of the pages, run as a reader would: every `sh` block, in order, in one shell.

A block whose last line starts a server is a terminal of its own: it is left running once it says
that it is ready, and ends with its page. What cannot run here is named below, with the reason.
"""

import asyncio
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
PAGES: Final = (
    "tutorial/first-five-minutes.md",
    "tutorial/a-coding-task.md",
    "how-to/configure-a-provider.md",
    "how-to/deploy.md",
    "how-to/scale-out.md",
    "how-to/back-up-and-restore.md",
    "how-to/upgrade.md",
    "how-to/behind-nginx.md",
    "how-to/give-a-team-workspaces.md",
    "how-to/write-a-template.md",
    "how-to/measure.md",
)
SKIPPED: Final[Mapping[str, str]] = {
    "pip install": "it is not on PyPI yet; scripts/check_wheel installs what would be",
    "docker compose": "there is no container engine; test_deployments.py checks the file",
    "docker build": "there is no container engine; test_workspaces.py runs the scripts",
    "docker network": "there is no container engine",
    "kubectl": "there is no cluster; test_deployments.py checks the manifests",
    "nginx": "test_nginx.py runs the page's file in a real nginx",
}
"""How a block begins → why it is not run here."""
PAGE_S: Final = 900
_BLOCK: Final = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_SERVER: Final = re.compile(r"^([A-Z_]+=\S+ )*holdfast (dev|serve|worker|lab simulate)\b")
_COMMAND: Final = re.compile(r"\bholdfast ([a-z][a-z-]+(?: [a-z][a-z-]+)?)")
_SHELL: Final = r"""
set -euo pipefail -m
servers=()
end() {
    for each in "${servers[@]}"; do kill -TERM -- "-$each" 2>/dev/null || true; done
    wait || true
    servers=()
}
trap end EXIT
until_ready() {
    until grep -q "is ready" "$1"; do
        kill -0 "$2" 2>/dev/null || { cat "$1"; echo "it ended before it was ready"; exit 1; }
        sleep 0.1
    done
}
"""


@dataclass(frozen=True)
class Ran:
    code: int
    said: str


def blocks(page: str) -> list[str]:
    text = (DOCS / page).read_text()
    return [textwrap.dedent(found[2]).strip() for found in _BLOCK.finditer(text)]


def why_skipped(block: str) -> str | None:
    return next((why for begins, why in SKIPPED.items() if block.startswith(begins)), None)


def skipped(pages: Sequence[str]) -> list[str]:
    return [
        f"{page}: {block.splitlines()[0]}: {why}"
        for page in pages
        for block in blocks(page)
        if (why := why_skipped(block))
    ]


def commands(page: str) -> set[str]:
    """The verbs of ours that a page tells people to use, in its blocks."""
    return {found for block in blocks(page) for found in _COMMAND.findall(block)}


def script(pages: Sequence[str], instead: Mapping[str, str]) -> str:
    """One shell for these pages. `instead`: what stands in a page → what it is here."""
    lines = [_SHELL]
    for page in pages:
        for number, block in enumerate(blocks(page), 1):
            if why_skipped(block) is None:
                lines += _run(f"{page}, block {number}", _replaced(block, instead))
        lines.append("end")
    return "\n".join(lines)


def _run(name: str, block: str) -> list[str]:
    told = f"echo {shlex.quote(f'--- {name}')}"
    *before, last = block.splitlines()
    if not _SERVER.match(last):
        return [told, block]
    return [
        told,
        *before,
        'log=$(mktemp -p "$WORK")',
        f'{last} >"$log" 2>&1 &',
        "servers+=($!)",
        'until_ready "$log" $!',
    ]


def _replaced(block: str, instead: Mapping[str, str]) -> str:
    for old in sorted(instead, key=len, reverse=True):  # the longer ones hold the shorter
        block = block.replace(old, instead[old])
    return block


async def run(
    pages: Sequence[str], folder: Path, instead: Mapping[str, str], **variables: str
) -> Ran:
    """Every block of these pages; ends with the first command that fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    environment = {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}",
        "HOME": str(folder),
        "WORK": str(folder),
        "HOLDFAST_CONFIG_DIR": str(folder / "config"),
        "COLUMNS": "100",
        **variables,
    }
    shell = await asyncio.create_subprocess_exec(
        *("bash", "-c", script(pages, instead)),
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(PAGE_S):
            said, _ = await shell.communicate()
    finally:
        if shell.returncode is None:
            shell.terminate()
            await shell.communicate()
    return Ran(shell.returncode or 0, said.decode(errors="replace"))
