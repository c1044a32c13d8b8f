#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
git log -S 'def legacy_total' --format='%an %as' -- lib sums.py | head -n 1 >answer.txt
