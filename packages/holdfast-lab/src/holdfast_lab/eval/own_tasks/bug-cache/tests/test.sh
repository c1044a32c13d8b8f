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
from cache import Cache

now = [0.0]
cache = Cache(limit=2, ttl=10, clock=lambda: now[0])
cache.put("a", 1)
now[0] = 6
assert cache.get("a") == 1
now[0] = 11
assert cache.get("a", "gone") == "gone", "a read prolonged the entry"
cache = Cache(limit=2, ttl=100, clock=lambda: now[0])
cache.put("a", 1), cache.put("b", 2)
assert cache.get("a") == 1
cache.put("c", 3)
assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3), "not the least recently used"
cache.put("a", 4)
cache.put("d", 5)
assert (cache.get("a"), cache.get("c"), cache.get("d")) == (4, None, 5), "storing again is a use"
assert len(cache) == 2
cache.put("n", None)
assert cache.get("n", "default") is None, "None is a value"
END
