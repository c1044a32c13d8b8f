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
from collections import Counter

PROGRAM = open("replay.py").read()
assert __import__("hashlib").sha256(PROGRAM.encode()).hexdigest() == "b02e065dc8fc2bc67d013696832e528e4bf398a1cef107f1258eb507cf29dc17", "replay.py was changed"
said = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
rows = [line.split() for line in said.splitlines()]
errors = [row for row in rows if int(row[2]) >= 500]
wanted = {
    "slow": sum(row[2] == "200" and int(row[3]) > 900 for row in rows),
    "worst_path": Counter(row[1] for row in errors).most_common(1)[0][0],
    "last_error": errors[-1][0],
}
assert json.load(open("answer.json")) == wanted, wanted
END
