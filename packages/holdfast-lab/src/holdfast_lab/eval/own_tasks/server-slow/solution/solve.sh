#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
sed -i 's/import BaseHTTPRequestHandler, HTTPServer/import BaseHTTPRequestHandler, ThreadingHTTPServer/
s/    HTTPServer(/    ThreadingHTTPServer(/
s/^from concurrent.futures import ThreadPoolExecutor/import threading/
s/^POOL = .*/LOCK = threading.Lock()/
s/^    STORE.write(STORE.read() + number)/    with LOCK:\n        STORE.write(STORE.read() + number)/
s/        POOL.submit(add, int(asked\["n"\]\[0\]))/        add(int(asked["n"][0]))/' server.py
sed -i '/^import threading/d; s/^import sys$/import sys\nimport threading/' server.py
