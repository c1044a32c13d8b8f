#!/bin/sh
# Writes 1 to reward.txt if the task is solved, else 0.
set -u
root=${EVAL_ROOT:-/app}
logs=${EVAL_LOGS:-/logs/verifier}
mkdir -p "$logs"
echo 0 >"$logs/reward.txt"
cd "$root" || exit 0
python3 - <<'END' && echo 1 >"$logs/reward.txt"
import sys

sys.path.insert(0, ".")
from pages import page, page_count

assert [page_count(list(range(n)), 3) for n in (0, 1, 3, 4, 6)] == [0, 1, 1, 2, 2]
items = list(range(7))
assert [page(items, n, 3) for n in (1, 2, 3)] == [[0, 1, 2], [3, 4, 5], [6]]
for wrong in (0, -1, 4):
    try:
        page(items, wrong, 3)
    except IndexError:
        continue
    raise AssertionError(wrong)
END
