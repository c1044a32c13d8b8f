#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
python3 replay.py | awk '
    $3 == 200 && $4 > 900 { slow++ }
    $3 >= 500 { count[$2]++; last = $1 }
    END {
        for (path in count) if (count[path] > most) { most = count[path]; worst = path }
        printf "{\"slow\": %d, \"worst_path\": \"%s\", \"last_error\": \"%s\"}\n", slow, worst, last
    }' >answer.json
