#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
git bisect start main v1 >/dev/null
git bisect run sh check.sh >/dev/null
git rev-parse refs/bisect/bad >.git/found
git bisect reset >/dev/null 2>&1
mv .git/found answer.txt
