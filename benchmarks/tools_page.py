"""benchmarks/tools.md from benchmarks/tools.json: several runs write their share of the figures.

python -m benchmarks.tools_page     the page again, from what is in the file
"""

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import orjson

from benchmarks.report import FOLDER, stamp, write_json, write_page

MISSING = "(not measured yet)"


def write_tools(run: str, figures: Mapping[str, float | int | str]) -> None:
    """What one run measured, when, and the page anew."""
    write_json("tools", {**figures, "cores": os.cpu_count() or 0, f"{run}_measured": stamp()})
    render()


def render() -> None:
    figures: dict[str, object] = orjson.loads((FOLDER / "tools.json").read_bytes())
    page = Path(__file__).with_name("tools.template.md").read_text(encoding="utf-8")
    write_page("tools", page.format_map(defaultdict(lambda: MISSING, figures)))


if __name__ == "__main__":
    render()
