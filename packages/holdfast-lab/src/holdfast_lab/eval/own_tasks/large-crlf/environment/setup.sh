#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
python3 - <<'END'
rows = [f"K-{n:04};Ware Nr. {n} für Küche;{n % 90 + 1},{n % 100:02}" for n in range(2000)]
with open("catalogue.txt", "wb") as file:
    file.write("\ufeff".encode() + "".join(row + "\r\n" for row in rows).encode())
END
