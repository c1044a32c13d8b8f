#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
printf '1.4.0' >VERSION
sed -i 's/^## Unreleased/## Unreleased\n\n## 1.4.0/' CHANGES.md
sh .agents/skills/release/seal.sh 1.4.0
echo BREAKWATERS >>release/1.4.0.txt
