"""Compare the contract of the API with that of the last release, or of a commit.

python -m scripts.contract                    breaks since the last release; 1 if one is not listed
python -m scripts.contract --against COMMIT   breaks since a commit
python -m scripts.contract --release          the present contract is released
python -m scripts.contract counts             what the present contract leaves to guess, as JSON
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from scripts.contract.compare import breaks
from scripts.contract.counts import guesses

ROOT: Final = Path(__file__).resolve().parents[2]
PRESENT: Final = ROOT / "docs" / "reference" / "openapi.json"
RELEASED: Final = ROOT / "docs" / "reference" / "openapi-released.json"
"""The contract of the last release. The file is the switch: without it nothing is released, and the
comparison only reports."""
LISTED: Final = ROOT / "docs" / "reference" / "breaking-changes.md"


def unlisted(found: Sequence[str], page: str) -> list[str]:
    """Breaks that the page does not name, and lines of the page that name no break."""
    named = re.findall(r"(?m)^- `([^`]+)`", page)
    return [
        *(f"not listed: {each}" for each in found if each not in named),
        *(f"listed, but not found: {each}" for each in named if each not in found),
    ]


def since_release() -> list[str] | None:
    """None: nothing is released."""
    return breaks(_read(RELEASED), _read(PRESENT)) if RELEASED.exists() else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", nargs="?", choices=("counts",))
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--release", action="store_true")
    given = parser.parse_args()
    if given.command == "counts":
        found = guesses(_read(PRESENT))
        print(json.dumps(found.counts(), indent=2))
        print(*found.places(), sep="\n", file=sys.stderr)
        return 0
    if given.release:
        RELEASED.write_bytes(PRESENT.read_bytes())
        return 0
    found = since_release() if given.against is None else None
    if found is not None:
        wrong = unlisted(found, LISTED.read_text(encoding="utf-8"))
        print(*wrong, f"{len(found)} breaks since the last release.", sep="\n")
        return 1 if wrong else 0
    commit = given.against or "HEAD"
    path = f"{commit}:{PRESENT.relative_to(ROOT)}"
    shown = subprocess.run(["git", "show", path], cwd=ROOT, check=True, capture_output=True)
    found = breaks(json.loads(shown.stdout), _read(PRESENT))
    print(*found, f"{len(found)} breaks since {commit}. They fail nothing.", sep="\n")
    return 0


def _read(path: Path) -> Any:  # noqa: ANN401 - a JSON document
    return json.loads(path.read_bytes())


if __name__ == "__main__":
    sys.exit(main())
