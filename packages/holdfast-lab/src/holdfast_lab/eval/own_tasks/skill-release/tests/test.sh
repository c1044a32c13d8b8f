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
import subprocess
from pathlib import Path

assert Path("VERSION").read_bytes() == b"1.4.0"
headings = [line for line in Path("CHANGES.md").read_text().splitlines() if line.startswith("## ")]
assert headings == ["## Unreleased", "## 1.4.0", "## 1.3.2"], headings
text = Path("CHANGES.md").read_text()
assert text.split("## Unreleased")[1].split("## 1.4.0")[0].strip() == ""
assert "- Support for breakwaters in the map." in text.split("## 1.4.0")[1].split("## 1.3.2")[0]
seal = hashlib.sha256(text.encode()).hexdigest()[:12]
assert Path("release/1.4.0.txt").read_text().split("\n")[:2] == [f"1.4.0 {seal}", "BREAKWATERS"]
git = lambda *words: subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout
assert git("rev-list", "--count", "HEAD").strip() == "1" and git("tag") == ""
END
