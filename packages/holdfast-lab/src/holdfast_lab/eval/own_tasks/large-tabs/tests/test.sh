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
import zlib

words = ["anchor", "beacon", "current", "dock", "ebb", "fjord", "gale", "harbour", "inlet", "jetty"]
routes = sorted({f"{a}-{b}{n}" for a in words for b in words for n in range(50)}, key=str.encode)[:4600]
kept = []
for n, name in enumerate(routes):
    above = [f"; {name} was measured in year {1990 + n % 30}"] if n % 13 == 5 else []
    if n % 8 != 3 or n % 5 * 10 != 0:
        kept.append((name, [*above, f"{name}\tpier-{n % 8}\t{n % 5 * 10}"]))
kept.append(("harbour-mole", ["harbour-mole\tpier-9\t40"]))
kept.sort(key=lambda each: each[0].encode())
body = "".join(line + "\n" for _, lines in kept for line in lines).encode()
wanted = f"#routes\t{len(kept)}\t{zlib.crc32(body):08x}\n".encode() + body
assert open("routes.tbl", "rb").read() == wanted
END
