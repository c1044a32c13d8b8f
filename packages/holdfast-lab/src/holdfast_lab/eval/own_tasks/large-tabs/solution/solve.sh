#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
python3 - <<'END'
import zlib

lines = open("routes.tbl", encoding="utf-8").read().split("\n")[1:-1]
kept, above = [], []
for line in lines:
    if line.startswith(";"):
        above.append(line)
        continue
    name, target, weight = line.split("\t")
    if (target, weight) != ("pier-3", "0"):
        kept.append((name.encode(), [*above, line]))
    above = []
kept.append((b"harbour-mole", ["harbour-mole\tpier-9\t40"]))
kept.sort(key=lambda each: each[0])
body = "".join(line + "\n" for _, lines in kept for line in lines).encode()
with open("routes.tbl", "wb") as file:
    file.write(f"#routes\t{len(kept)}\t{zlib.crc32(body):08x}\n".encode() + body)
END
./check.sh
