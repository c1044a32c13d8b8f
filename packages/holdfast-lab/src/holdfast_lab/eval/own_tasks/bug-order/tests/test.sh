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
from order import Cycle, order

assert order({"a": ["c"], "b": ["c"], "c": []}) == ["c", "a", "b"]
assert order({"b": ["x"], "a": ["y"]}) == ["x", "b", "y", "a"]
assert order({"z": [], "m": ["q"], "a": ["z"]}) == ["q", "m", "z", "a"]
assert order({}) == []
assert order({"a": ["b", "b"], "b": []}) == ["b", "a"]
for needs, steps in (
    ({"a": ["a"]}, ["a"]),
    ({"x": ["b"], "b": ["c"], "c": ["a"], "a": ["b"], "q": []}, ["a", "b", "c"]),
    ({"start": ["d"], "d": ["e"], "e": ["d"]}, ["d", "e"]),
):
    try:
        order(needs)
    except Cycle as cycle:
        assert list(cycle.steps) == steps, cycle.steps
    else:
        raise AssertionError(needs)
END
