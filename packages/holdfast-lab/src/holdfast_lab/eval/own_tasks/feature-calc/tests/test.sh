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
from calc import CalcError, evaluate

for text, value in {
    "1 + 2 * 3": 7,
    "(1 + 2) * 3": 9,
    "10 - 4 - 3": 3,
    "-2^2": -4,
    "2^3^2": 512,
    "2^-1": 0.5,
    "(-2)^2": 4,
    "--3": 3,
    "2 * -3": -6,
    "min(3, 1 + 1, 5)": 2,
    "max(7)": 7,
    "abs(-2 ^ 2)": 4,
    "1.5 * 4": 6,
}.items():
    assert abs(evaluate(text) - value) < 1e-9, (text, evaluate(text))
assert evaluate("2 * width", {"width": 4}) == 8
assert evaluate("a_1 + min", {"a_1": 1, "min": 2}) == 3
for wrong in ("", " ", "1 +", "1 2", "(1", "1)", "$", "1 / 0", "0 ^ -1", "min()", "abs(1, 2)", "sin(1)", "2 * (3 + )", ",", "min(1,)", "1..2", "(-8) ^ 0.5", "x"):
    try:
        found = evaluate(wrong)
    except CalcError as error:
        assert wrong != "x" or "x" in str(error)
    else:
        raise AssertionError((wrong, found))
END
