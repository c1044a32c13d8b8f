#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
sed -i 's/\[^a-z0-9\]"/[^a-z0-9]+"/' slug.py
