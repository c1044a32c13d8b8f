#!/bin/sh
# Writes 1 to reward.txt if the task is solved, else 0.
set -u
root=${EVAL_ROOT:-/app}
logs=${EVAL_LOGS:-/logs/verifier}
mkdir -p "$logs"
echo 0 >"$logs/reward.txt"
cd "$root" || exit 0
python3 - <<'END' && echo 1 >"$logs/reward.txt"
import sys

sys.path.insert(0, ".")
import hashlib
from pathlib import Path

wanted = [
    "01.txt,Mira Olsen,yes",
    "02.txt,Tom Adeyemi,no",
    "03.txt,Lea Brandt,no",
    "04.txt,Ivo Nagy,yes",
    "05.txt,Ana Ruiz,no",
]
found = [line.replace('"', "").replace(", ", ",").strip() for line in Path("summary.csv").read_text().splitlines()]
assert found == wanted, found
names = sorted(str(p) for p in Path(".").rglob("*") if p.is_file())
assert names == sorted([*(f"inbox/0{n}.txt" for n in range(1, 6)), "data/customers.txt", "data/state.ini", "summary.csv"]), names
assert Path("data/customers.txt").read_text() == "Mira Olsen,12 Quay St\nTom Adeyemi,4 Hill Rd\n"
assert Path("data/state.ini").read_text() == "total=5\n"
END
