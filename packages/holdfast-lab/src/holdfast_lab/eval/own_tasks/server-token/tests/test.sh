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

assert open("token.txt").read().strip() == hashlib.sha256(b"tide token").hexdigest()
END
