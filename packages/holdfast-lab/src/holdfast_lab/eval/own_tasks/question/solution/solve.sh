#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
message=${EVAL_MESSAGE:-/logs/agent/final-message.txt}
mkdir -p "$(dirname "$message")"
printf 'Only `dues` in harbour.py is called by no other code.\n\nANSWER: dues\n' >"$message"
