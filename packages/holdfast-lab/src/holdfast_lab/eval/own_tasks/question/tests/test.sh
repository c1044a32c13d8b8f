#!/bin/sh
# Writes 1 to reward.txt if the task is solved, else 0.
set -u
root=${EVAL_ROOT:-/app}
logs=${EVAL_LOGS:-/logs/verifier}
mkdir -p "$logs"
echo 0 >"$logs/reward.txt"
cd "$root" || exit 0
message=${EVAL_MESSAGE:-/logs/agent/final-message.txt}
[ -z "$(git status --porcelain --ignored -- ':!**/__pycache__')" ] && [ "$(git rev-list --count HEAD)" = 1 ] &&
    [ "$(tr -d '\r`*' <"$message" 2>/dev/null | sed 's/()//; s/[[:space:].]*$//' | grep -o 'ANSWER: .*' | tail -n 1)" = "ANSWER: dues" ] &&
    echo 1 >"$logs/reward.txt"
