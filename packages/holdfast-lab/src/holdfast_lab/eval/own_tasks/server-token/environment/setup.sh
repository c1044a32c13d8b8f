#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >server.py <<'END'
"""Gives a token to a client that follows the instructions."""

import hashlib
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

HELP = """1. GET /challenge: a JSON object with a list "numbers".
2. POST /answer with the JSON object {"sum": N}, N being the sum of the even numbers,
   and with the header X-Client: eval. The answer is a JSON object with "next".
3. GET the path in "next" until its answer has "token"; each answer names another path.
"""
NUMBERS = [3, 8, 14, 27, 90, 111, 4]
STEPS = 5


def path_of(step):
    return "/" + hashlib.sha256(f"tide {step}".encode()).hexdigest()[:16]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/":
            self.answer(200, HELP)
        elif self.path == "/challenge":
            self.answer(200, json.dumps({"numbers": NUMBERS}))
        else:
            for step in range(STEPS):
                if self.path == path_of(step):
                    last = step == STEPS - 1
                    token = hashlib.sha256(b"tide token").hexdigest()
                    self.answer(200, json.dumps({"token": token} if last else {"next": path_of(step + 1)}))
                    return
            self.answer(404, "no such path\n")

    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("X-Client") != "eval" or given.get("sum") != sum(n for n in NUMBERS if n % 2 == 0):
            self.answer(403, "wrong: read GET / again\n")
        else:
            self.answer(200, json.dumps({"next": path_of(0)}))

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", 8765), Handler).serve_forever()
END
