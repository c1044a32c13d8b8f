#!/bin/sh
# Writes 1 to reward.txt if the task is solved, else 0.
set -u
root=${EVAL_ROOT:-/app}
logs=${EVAL_LOGS:-/logs/verifier}
mkdir -p "$logs"
echo 0 >"$logs/reward.txt"
cd "$root" || exit 0
[ "$(tr -d '\r' <answer.txt 2>/dev/null | sed 's/[[:space:]]*$//')" = "Eve 2025-03-17" ] && echo 1 >"$logs/reward.txt"
