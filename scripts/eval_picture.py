"""docs/pictures/eval-report.png: the page of a report of `holdfast lab eval`, as Chromium shows it;
and benchmarks/eval.json: the report without its transcripts.

holdfast lab eval --scripted --runs 1 --durability --json report.json
python -m scripts.eval_picture report.json [FILE.png] [--dark]
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

import orjson

from holdfast_lab.eval.page import page_of

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURE: Final = ROOT / "docs" / "pictures" / "eval-report.png"
KEPT: Final = ROOT / "benchmarks" / "eval.json"
SIZE: Final = "1120,1240"


def take(report: Path, picture: Path, *, dark: bool = False) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("Install chromium.")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(page_of(orjson.loads(report.read_bytes())), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += ["--blink-settings=preferredColorScheme=0"] if dark else []
        subprocess.run(
            (chromium, *options, f"--window-size={SIZE}", f"--screenshot={picture}", page.as_uri()),
            check=True,
            capture_output=True,
        )


def keep(report: Path) -> None:
    found: dict[str, Any] = orjson.loads(report.read_bytes())
    for run in found["runs"]:
        run["transcript"] = []
    KEPT.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path, nargs="?", default=PICTURE)
    parser.add_argument("--dark", action="store_true")
    given = parser.parse_args()
    take(given.report, given.picture.absolute(), dark=given.dark)
    if given.picture == PICTURE:
        keep(given.report)


if __name__ == "__main__":
    main()
