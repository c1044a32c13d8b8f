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
from shares import split_cents

assert split_cents(100, [1, 1, 1]) == [34, 33, 33]
assert split_cents(101, [1, 1, 1]) == [34, 34, 33]
assert split_cents(-100, [1, 1, 1]) == [-34, -33, -33]
assert split_cents(5, [0, 1, 0, 1]) == [0, 3, 0, 2]
assert split_cents(10, [1, 2, 4]) == [1, 3, 6]
assert split_cents(0, [3, 4]) == [0, 0]
big = 10**30 + 1
assert split_cents(big, [1, 1]) == [big // 2 + 1, big // 2]
assert split_cents(7, [10**20, 1]) == [7, 0]
for wrong in ([], [0, 0], [1, -1, 3]):
    try:
        split_cents(5, wrong)
    except ValueError:
        continue
    raise AssertionError(wrong)
for total in range(-60, 60):
    for weights in ([3, 5, 7], [1, 1, 2, 9], [2, 2], [7]):
        parts, whole = split_cents(total, weights), sum(weights)
        assert sum(parts) == total, (total, weights)
        assert all(abs(p * whole - total * w) < whole for p, w in zip(parts, weights)), (total, weights)
        assert [-p for p in parts] == split_cents(-total, weights)
END
