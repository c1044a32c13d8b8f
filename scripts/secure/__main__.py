"""Prints what is new, what is accepted for no reason any more, and what could not be looked up.

Exit code 1: a new finding, a stale line of accepted.toml, or a rule that misses its mutant.
"""

import sys

from scripts.gate.stages import ROOT
from scripts.secure.findings import Finding, accepted_in, judged
from scripts.secure.planted import PLANTED, unnoticed
from scripts.secure.tools import CODE, LOOKING_UP, READING, NotHad


def main() -> int:
    asleep = unnoticed()
    print(f"mutants: {len(PLANTED) - len(asleep)} of {len(PLANTED)} rules notice theirs")
    for each in asleep:
        print(f"  not noticed: {each}")
    findings: list[Finding] = []
    asked = [*READING, *LOOKING_UP]
    for name, tool in {**READING, **LOOKING_UP}.items():
        try:
            found = tool(ROOT, CODE)
        except NotHad as why:
            if name in READING:
                raise
            asked.remove(name)
            print(f"{name}: NOT LOOKED UP: {why}")
            continue
        print(f"{name}: {len(found)} findings")
        findings += found
    accepted = [each for each in accepted_in() if each.tool in asked]
    new, stale = judged(findings, accepted)
    for each in new:
        print(f"  new: {each}")
    for each in stale:
        print(f"  accepted, but not found any more: {each}")
    print(f"{len(findings) - len(new)} accepted by {len(accepted)} reasons, {len(new)} new")
    return 1 if new or stale or asleep else 0


if __name__ == "__main__":
    sys.exit(main())
