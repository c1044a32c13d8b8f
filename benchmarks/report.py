"""A benchmark's two pages: NAME.md for people, NAME.json for programs."""

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import orjson

FOLDER = Path(__file__).parent


def commit() -> str:
    """The commit that was measured; marked if the tree held changes."""
    head = _git("rev-parse", "--short", "HEAD")
    return f"{head}+" if _git("status", "--porcelain", "--", "packages") else head


def stamp() -> str:
    return f"Measured {datetime.now(UTC):%Y-%m-%d} at commit {commit()}."


def write_json(name: str, figures: Mapping[str, float | int | str]) -> None:
    """Flat keys; what other runs put there and this one did not measure is kept."""
    path = FOLDER / f"{name}.json"
    known: dict[str, float | int | str] = orjson.loads(path.read_bytes()) if path.exists() else {}
    merged = {**known, **figures, "commit": commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    path.write_bytes(orjson.dumps(merged, option=orjson.OPT_INDENT_2) + b"\n")


def write_page(name: str, text: str) -> None:
    (FOLDER / f"{name}.md").write_text(text)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
