#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
sed -i 's|return len(items) // size|return -(-len(items) // size)|; s/number < 0/number < 1/' pages.py
