#!/bin/sh
# Writes 1 to reward.txt if the task is solved, else 0.
set -u
root=${EVAL_ROOT:-/app}
logs=${EVAL_LOGS:-/logs/verifier}
mkdir -p "$logs"
echo 0 >"$logs/reward.txt"
cd "$root" || exit 0
[ "$(find vendor test.sh expected.txt -type f ! -name '*.pyc' | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-64)" = "b0cb8217ac88b3e3b9c1322c69626d407438a3501bc6732a494e1b2cce08115b" ] &&
    sh test.sh && echo 1 >"$logs/reward.txt"
