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
rows = [f"K-{n:04};Ware Nr. {n} für Küche;{n % 90 + 1},{n % 100:02}" for n in range(2000)]
for n in (77, 1204, 1999):
    rows[n] = f"K-{n:04};Ware Nr. {n} für Küche;9,90"
rows.append("K-2000;Seegras;4,50")
wanted = "\ufeff".encode() + "".join(row + "\r\n" for row in rows).encode()
assert open("catalogue.txt", "rb").read() == wanted
END
