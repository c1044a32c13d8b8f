"""The page for the browser: in a clone it is built once, by npm."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import typer

from holdfast.api.ui_files import STATIC
from holdfast.cli.process import say

CLONE: Final = Path(__file__).resolve().parents[6]
"""Where the sources are, if this is a clone and no wheel."""
HOW: Final = "not built: run `uv run just ui` (it needs Node 20 or newer), then start again"


def is_built(folder: Path = STATIC) -> bool:
    return (folder / "index.html").is_file()


def offer_to_build(clone: Path = CLONE, folder: Path = STATIC) -> None:
    """Ask at a terminal whether to build the page that is missing. A process in the background
    cannot ask: reading would stop it."""
    command = build_command(clone)
    if is_built(folder) or command is None or not _can_ask():
        return
    if not typer.confirm("The page is not built yet. Build it now (about a minute)?", default=True):
        return
    if subprocess.run(command, cwd=clone, check=False).returncode:  # noqa: S603 - of the clone
        say("The page could not be built. The server starts without it.")


def build_command(clone: Path) -> list[str] | None:
    """None where it cannot be built: no clone, or no npm."""
    just = shutil.which("just") or shutil.which("just", path=str(Path(sys.executable).parent))
    sources = (clone / "ui" / "package.json", clone / "justfile")
    if just is None or shutil.which("npm") is None or not all(each.is_file() for each in sources):
        return None
    return [just, "ui"]


def _can_ask() -> bool:
    with suppress(OSError, ValueError):
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    return False
