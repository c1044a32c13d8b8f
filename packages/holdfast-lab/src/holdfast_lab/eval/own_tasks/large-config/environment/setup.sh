#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
python3 - <<'END'
lines = ["# Services of the cluster, generated once and edited by hand since."]
for n in range(500):
    lines += [
        "",
        f"[service.worker-{n:03}]",
        f"image = registry.local/worker:{n % 7}.{n % 3}",
        "replicas = 2",
        f"port = {8000 + n}",
        "timeout = 30",
        "retries = 3",
        "log = info",
        f"owner = team-{n % 11}",
        "enabled = yes",
    ]
with open("services.ini", "w") as file:
    file.write("\n".join(lines) + "\n")
END
