#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
sh build.sh | sed -n 's/^\(.*:[0-9]*\): error: .*/\1/p' >answer.txt
