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
from table import read_rows

for text, rows in {
    "a,b\nc,d\n": [["a", "b"], ["c", "d"]],
    '"a,b",c\n': [["a,b", "c"]],
    '"two\nlines",x\r\ny,z': [["two\nlines", "x"], ["y", "z"]],
    '"say ""hi""",\n': [['say "hi"', ""]],
    "a\n\nb\n": [["a"], [""], ["b"]],
    " a , b ": [[" a ", " b "]],
    '""': [[""]],
}.items():
    assert read_rows(text) == rows, (text, read_rows(text))
assert "import csv" not in open("table.py").read()
END
