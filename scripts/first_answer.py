"""A newcomer's path, timed: from `git clone`, and from the wheel, to the answer of a suggestion.

    uv run python -m scripts.first_answer [--cold] [--into benchmarks/admin.json]

`holdfast dev` starts, Chromium opens the link that it prints, presses the first suggestion and
waits for its answer. The same server then answers `holdfast run` on the command line.

The commands from the clone are those of the README's quick start. `--cold` downloads every package
anew. Seconds of the wall clock, so run it on a quiet machine.
"""

import argparse
import asyncio
import os
import re
import shlex
import subprocess
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import orjson
from playwright.async_api import async_playwright

from scripts.first_visit import ask, link_in
from scripts.transcript import (
    LIMIT_S,
    README,
    READY,
    ROOT,
    Failed,
    Place,
    free_port,
    running,
    shown,
    wait_for,
)

QUICK_START: Final = "## Quick start\n"
WORDS: Final = r"The tool answered: \S+ \w+"
UV: Final = ("uv", "run", "holdfast")
GOAL_S: Final = 180.0
COMMANDS_MAX: Final = 3
SUGGESTION: Final = "What can you do?"
CHROMIUM: Final = "/usr/bin/chromium"
FLAGS: Final = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")


@dataclass
class Watch:
    """Seconds of each step, in order."""

    began: float = field(default_factory=time.monotonic)
    steps: dict[str, float] = field(default_factory=dict[str, float])
    commands: int = 0
    """What a newcomer types in the clone, or before an answer of the wheel."""

    def lap(self, step: str) -> None:
        now = time.monotonic()
        self.steps[step] = round(now - self.began, 2)
        self.began = now

    @property
    def total_s(self) -> float:
        return round(sum(self.steps.values()), 2)


def quick_start() -> list[list[str]]:
    """The commands of the README, as a newcomer types them."""
    _, _, rest = README.read_text().partition(QUICK_START)
    section, _, _ = rest.partition("\n## ")
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]


def from_clone(place: Place) -> Watch:
    watch = Watch()
    *before, dev, run = quick_start()
    watch.commands = len(before) + 1
    home = place.folder / "holdfast"
    _run("git", "clone", "--quiet", f"file://{ROOT}", str(home), place=place)
    watch.lap("git clone")
    place = replace(place, home=home)
    for command in before:
        _run(*command, place=place)
        watch.lap(" ".join(command))
    return _answered(place, watch, dev, run)


def from_wheel(place: Place) -> Watch:
    into = ("--out-dir", str(place.folder))
    _run("uv", "build", "--quiet", "--wheel", "--all-packages", *into, place=place)
    wheels = [str(wheel) for wheel in place.folder.glob("*.whl")]
    watch = Watch(commands=2)
    venv = place.folder / "venv"
    _run("uv", "venv", "--quiet", str(venv), place=place)
    _run("uv", "pip", "install", "--quiet", "--python", str(venv), *wheels, place=place)
    watch.lap("install the wheel")
    *_, dev, run = quick_start()
    program = str(venv / "bin" / "holdfast")
    away = replace(place, home=place.folder)  # what is missing in the wheel must be missed
    return _answered(away, watch, *([program, *each[len(UV) :]] for each in (dev, run)))


def _answered(place: Place, watch: Watch, dev: list[str], run: list[str]) -> Watch:
    told, answer = place.folder / "dev.out", place.folder / "run.out"
    own = ["--data", str(place.folder / "data"), "--port", str(place.port)]
    with running(place.launch(*dev, *own, output=told)) as server:
        wait_for(told, READY, server)
        watch.lap("holdfast dev is ready")
        asyncio.run(_visited(link_in(shown(told))))
        watch.lap("the page answers a suggestion")
        asked = place.launch(*run, output=answer)
        wait_for(answer, WORDS, asked)
        watch.lap("holdfast run streams its answer")
        if asked.wait(LIMIT_S) != 0:
            raise Failed(shown(answer))
    return watch


async def _visited(link: str) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            page = await browser.new_page()
            await page.goto(link)
            await ask(page, SUGGESTION)
        finally:
            await browser.close()


def _run(*command: str, place: Place) -> None:
    subprocess.run(command, cwd=place.home, env=place.environment, check=True)


def _commit() -> str:
    said = ("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD")
    return subprocess.run(said, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cold", action="store_true", help="with an empty cache of packages")
    options.add_argument("--into", type=Path, help="a JSON file that gets first_answer_s")
    given = options.parse_args()
    found: dict[str, Watch] = {}
    for name, path in {"clone": from_clone, "wheel": from_wheel}.items():
        with tempfile.TemporaryDirectory(prefix="hf-") as folder:
            Path(folder).chmod(0o711)  # as root, PostgreSQL's user must pass
            if given.cold:
                os.environ["UV_CACHE_DIR"] = f"{folder}/uv"
            found[name] = path(Place(Path(folder), free_port()))
        print(f"from the {name}: {found[name].total_s} s {found[name].steps}")
    slowest_s = max(watch.total_s for watch in found.values())
    if given.into:
        known = given.into.read_bytes() if given.into.exists() else b"{}"
        figures: dict[str, Any] = orjson.loads(known)
        figures |= {
            "first_answer_commands": found["clone"].commands,
            "first_answer_s": found["clone"].total_s,
            "first_answer_from_wheel_commands": found["wheel"].commands,
            "first_answer_from_wheel_s": found["wheel"].total_s,
            "first_answer_cache": "cold" if given.cold else "warm",
            "first_answer_commit": _commit(),
            "first_answer_date": time.strftime("%Y-%m-%d", time.gmtime()),
        }
        given.into.write_bytes(orjson.dumps(figures, option=orjson.OPT_INDENT_2) + b"\n")
    most = max(watch.commands for watch in found.values())
    if most > COMMANDS_MAX:
        raise SystemExit(f"{most} commands: more than {COMMANDS_MAX}")
    if slowest_s > GOAL_S:
        raise SystemExit(f"more than {GOAL_S:.0f} s")


if __name__ == "__main__":
    main()
