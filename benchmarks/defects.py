"""The defects of a review: which script showed each, and which test or attack keeps it away.

`defects.json` is kept by hand. A script is called mended when it was run again and no longer showed
its defect; a defect that still has an open part is named in `open`, whatever its scripts say.
"""

from typing import Any, Final, TypeAlias

import orjson

from benchmarks.report import FOLDER

FILE: Final = FOLDER / "defects.json"
Table: TypeAlias = dict[str, Any]


def table() -> Table:
    return orjson.loads(FILE.read_bytes())


def counted(given: Table) -> dict[str, float | int | str]:
    return {
        "defects_open": len(given["open"]),
        "repro_scripts": len(given["scripts"]),
        "repro_scripts_mended": sum(each["mended"] for each in given["scripts"]),
    }


def rows(given: Table) -> str:
    """For people: a row for each script."""
    return "\n".join(
        f"| {each['defect']}: {given['defects'][each['defect']]} | `{each['script']}`"
        f" | {_kept_away_by(each)} | {'mended' if each['mended'] else '**shown**'} |"
        for each in given["scripts"]
    )


def open_parts(given: Table) -> str:
    return "\n".join(f"- {name}: {why}" for name, why in given["open"].items()) or "None."


def _kept_away_by(script: Table) -> str:
    tests = [f"`{test.rpartition('/')[2]}`" for test in script["tests"]]
    attacks = [f"`holdfast lab prove --only '{name}'`" for name in script["attacks"]]
    return "<br>".join((*tests, *attacks))
