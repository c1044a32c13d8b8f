#!/bin/sh
# Writes 1 to reward.txt if the task is solved, else 0.
set -u
root=${EVAL_ROOT:-/app}
logs=${EVAL_LOGS:-/logs/verifier}
mkdir -p "$logs"
echo 0 >"$logs/reward.txt"
cd "$root" || exit 0
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
text = "\n".join(lines) + "\n"
for name, old, new in (("317", "timeout = 30", "timeout = 90"), ("042", "replicas = 2", "replicas = 5")):
    head, section, rest = text.partition(f"[service.worker-{name}]")
    text = head + section + rest.replace(old, new, 1)
with open("/tmp/wanted.ini", "w") as file:
    file.write(text)
END
cmp services.ini /tmp/wanted.ini && echo 1 >"$logs/reward.txt"
