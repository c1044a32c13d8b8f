#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >tools/sizes.py <<'END'
"""Sizes in bytes, as people write them."""

UNITS = {"kib": 1024, "mib": 1024**2, "k": 1000, "m": 1000**2, "g": 1000**3, "b": 1}


def parse_size(text):
    text = text.strip()
    for unit, factor in UNITS.items():
        exact = {"kib": "KiB", "mib": "MiB"}.get(unit)
        if text.endswith(exact) if exact else text.lower().endswith(unit):
            return int(text[: -len(unit)].replace("_", "")) * factor
    return int(text.replace("_", ""))
END
for name in upload quota log; do
    python3 - "tools/$name.py" <<'END'
import re
import sys
from pathlib import Path

path = Path(sys.argv[1])
text = re.sub(r"\n\ndef parse_size.*?\n\n\n", "\nfrom tools.sizes import parse_size\n\n\n", path.read_text(), flags=re.DOTALL)
path.write_text(text)
END
done
