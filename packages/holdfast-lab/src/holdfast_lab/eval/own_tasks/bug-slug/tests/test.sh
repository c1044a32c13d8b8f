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
from slug import slug

assert slug("Hello, World!") == "hello-world"
assert slug("  a -- b  ") == "a-b"
assert slug("kelp") == "kelp"
assert slug("...") == ""
assert 'slug("Hello, World!"), "hello-world"' in open("test_slug.py").read(), "the test was changed"
END
