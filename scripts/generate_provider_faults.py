"""Write docs/reference/provider-faults.md, and its rows for `holdfast lab prove`, from a run of
every fault on every wire; or check them.

python scripts/generate_provider_faults.py            write them
python scripts/generate_provider_faults.py --check    exit 1 with a diff if they have drifted
"""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Final

# Run as a file, Python puts scripts/ on its path and not the project.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support import fault_table, provider_faults

ROOT: Final = Path(__file__).resolve().parents[1]


def drift(account: provider_faults.Account) -> str:
    """How the files differ from what this run saw; empty when they are current."""
    return "".join(
        line for name, seen in _rendered(account).items() for line in _difference(name, seen)
    )


def _rendered(account: provider_faults.Account) -> dict[str, str]:
    return {
        fault_table.PAGE: fault_table.render(account),
        fault_table.ROWS: fault_table.render_rows(account),
    }


def _difference(name: str, seen: str) -> Iterator[str]:
    path = ROOT / name
    current = path.read_text(encoding="utf-8") if path.exists() else ""
    return unified_diff(
        current.splitlines(keepends=True),
        seen.splitlines(keepends=True),
        fromfile=name,
        tofile=f"{name} as seen",
    )


def main(arguments: Sequence[str]) -> int:
    if list(arguments) not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    account = asyncio.run(provider_faults.run())
    if arguments:
        drifted = drift(account)
        print(drifted, end="")
        return 1 if drifted else 0
    for (fault, wire), seen in account.seen.items():
        if seen.error is not None:
            print(f"{fault} on {wire}: {seen.error.kind}, request id {seen.error.request_id}")
    for name, seen in _rendered(account).items():
        (ROOT / name).write_text(seen, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
