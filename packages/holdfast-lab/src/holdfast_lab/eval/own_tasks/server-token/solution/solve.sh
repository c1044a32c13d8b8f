#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >.client.py <<'END'
import json
import subprocess
import sys
import time
from urllib.request import Request, urlopen

server = subprocess.Popen([sys.executable, "server.py"])
base = "http://127.0.0.1:8765"
try:
    for _ in range(100):
        try:
            numbers = json.load(urlopen(f"{base}/challenge"))["numbers"]
            break
        except OSError:
            time.sleep(0.1)
    body = json.dumps({"sum": sum(n for n in numbers if n % 2 == 0)}).encode()
    said = json.load(urlopen(Request(f"{base}/answer", body, {"X-Client": "eval"})))
    while "token" not in said:
        said = json.load(urlopen(base + said["next"]))
    with open("token.txt", "w") as file:
        file.write(said["token"] + "\n")
finally:
    server.terminate()
END
python3 .client.py
rm .client.py
