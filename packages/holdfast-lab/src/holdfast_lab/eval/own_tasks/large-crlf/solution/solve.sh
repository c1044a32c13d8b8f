#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
sed -i -E 's/^(\xef\xbb\xbf)?(K-(0077|1204|1999);[^;]*;)[0-9,]+/\1\29,90/' catalogue.txt
printf 'K-2000;Seegras;4,50\r\n' >>catalogue.txt
