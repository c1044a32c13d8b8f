#!/bin/sh
# Writes 1 to reward.txt if the task is solved, else 0.
set -u
root=${EVAL_ROOT:-/app}
logs=${EVAL_LOGS:-/logs/verifier}
mkdir -p "$logs"
echo 0 >"$logs/reward.txt"
cd "$root" || exit 0
wanted=$(git rev-list --reverse v1..main | sed -n 37p)
[ "$(git symbolic-ref --short HEAD)" = main ] && [ "$(git rev-list --count main)" = 61 ] &&
    git diff --quiet HEAD && [ "$(tr -d '[:space:]' <answer.txt 2>/dev/null)" = "$wanted" ] && echo 1 >"$logs/reward.txt"
