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
import ast
from pathlib import Path

found = [
    p.name
    for p in Path("tools").glob("*.py")
    for node in ast.walk(ast.parse(p.read_text()))
    if isinstance(node, ast.FunctionDef) and node.name == "parse_size"
]
assert found == ["sizes.py"], found
from tools import log, quota, upload
from tools.sizes import parse_size

assert upload.parse_size is parse_size and quota.parse_size is parse_size and log.parse_size is parse_size
for text, value in {
    "7": 7,
    " 7 ": 7,
    "7k": 7000,
    "7K": 7000,
    " 2m ": 2_000_000,
    "1G": 10**9,
    "4KiB": 4096,
    "2MiB": 2 * 1024**2,
    "12b": 12,
    "12B": 12,
    "1_000": 1000,
    "1_000b": 1000,
    "-3": -3,
}.items():
    assert parse_size(text) == value, (text, parse_size(text))
for wrong in ("", "k", "x", "7t", "KiB", "1.5k", "7 GiB"):
    try:
        found = parse_size(wrong)
    except ValueError:
        continue
    raise AssertionError((wrong, found))
assert upload.fits("1k", "1000") and quota.left("1KiB", 24) == 1000 and log.rotates(7000, "7k")
END
