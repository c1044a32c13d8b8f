"""Write docs/reference/provider-faults.md from a run of every fault on every wire, or check it.

python scripts/generate_provider_faults.py            write it
python scripts/generate_provider_faults.py --check    exit 1 with a diff if it has drifted
"""

import asyncio
import sys
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Final

# Run as a file, Python puts scripts/ on its path and not the project.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support import fault_table, provider_faults

ROOT: Final = Path(__file__).resolve().parents[1]


def drift(account: provider_faults.Account) -> str:
    """How the page differs from what this run saw; empty when it is current."""
    page = ROOT / fault_table.PAGE
    current = page.read_text(encoding="utf-8") if page.exists() else ""
    return "".join(
        unified_diff(
            current.splitlines(keepends=True),
            fault_table.render(account).splitlines(keepends=True),
            fromfile=fault_table.PAGE,
            tofile=f"{fault_table.PAGE} as seen",
        )
    )


def main(arguments: Sequence[str]) -> int:
    if list(arguments) not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    account = asyncio.run(provider_faults.run())
    drifted = drift(account)
    if arguments:
        print(drifted, end="")
        return 1 if drifted else 0
    page = ROOT / fault_table.PAGE
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(fault_table.render(account), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
