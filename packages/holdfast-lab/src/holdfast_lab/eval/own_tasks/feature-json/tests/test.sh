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


def run(*words):
    done = subprocess.run([sys.executable, "-m", "notes", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


import tempfile

with tempfile.TemporaryDirectory() as folder:
    file = f"{folder}/n"
    assert json.loads(run(file, "list", "--json")) == []
    run(file, "add", "tea")
    run(file, "add", 'a "quote"')
    run(file, "done", "2")
    assert run(file, "list") == '1. [ ] tea\n2. [x] a "quote"\n'
    assert json.loads(run(file, "list", "--json")) == [
        {"number": 1, "text": "tea", "done": False},
        {"number": 2, "text": 'a "quote"', "done": True},
    ]
assert "json" in open("notes/render.py").read()
END
