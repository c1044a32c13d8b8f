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
import hashlib
import socket
import subprocess
import time

for name, digest in (("client.py", "1b32923927fbb1c0f652020443ca53b29932e6d507c65321956bc6b68220e7a8"), ("store.py", "5da86d79e95c64d752deaae00ba5c9bbbc2ccb4286e680ea9753f47da96f6b63")):
    assert hashlib.sha256(open(name, "rb").read()).hexdigest() == digest, name
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = str(probe.getsockname()[1])
server = subprocess.Popen([sys.executable, "server.py", port])
try:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", int(port))).close()
            break
        except OSError:
            time.sleep(0.1)
    for _ in range(2):
        done = subprocess.run([sys.executable, "client.py", port], capture_output=True, text=True, timeout=25)
        assert done.stdout == "ok\n", done.stderr[-300:]
finally:
    server.kill()
END
