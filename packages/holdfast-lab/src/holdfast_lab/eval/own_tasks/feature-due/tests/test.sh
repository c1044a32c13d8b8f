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
import json
import subprocess
import tempfile
from pathlib import Path


def run(*words, code=0):
    done = subprocess.run([sys.executable, "-m", "notes", *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done)
    return done.stdout if code == 0 else done.stderr


with tempfile.TemporaryDirectory() as folder:
    file = f"{folder}/n"
    Path(file).write_text('{"text": "old", "done": false}\n')
    run(file, "add", "tax", "--due", "2026-03-01")
    run(file, "add", "gift", "--due", "2025-12-20")
    run(file, "add", "paid", "--due", "2025-01-01")
    run(file, "done", "4")
    before = Path(file).read_text()
    assert run(file, "add", "never", "--due", "2026-02-30", code=2).strip()
    assert Path(file).read_text() == before
    assert run(file, "list") == (
        "1. [ ] old\n2. [ ] tax (due 2026-03-01)\n3. [ ] gift (due 2025-12-20)\n4. [x] paid (due 2025-01-01)\n"
    )
    assert run(file, "list", "--overdue", "2026-03-01") == "3. [ ] gift (due 2025-12-20)\n"
    rows = [json.loads(line) for line in before.splitlines()]
    assert rows[0] == {"text": "old", "done": False}, rows[0]
    assert rows[1] == {"text": "tax", "done": False, "due": "2026-03-01"}, rows[1]
END
