#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
sed -i -E 's/get_usr($|[^_])/find_user\1/g' app/*.py docs/*.md test_users.py
