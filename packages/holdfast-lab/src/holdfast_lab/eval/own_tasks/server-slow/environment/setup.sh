#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >store.py <<'END'
"""Where the sum is kept: slow, and not safe for threads."""

import time


class Store:
    def __init__(self):
        self._sum = 0

    def read(self):
        return self._sum

    def write(self, value):
        time.sleep(0.01)
        self._sum = value


def slow_store():
    return Store()
END
cat >server.py <<'END'
"""A counter over HTTP."""

import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from store import slow_store

STORE = slow_store()
POOL = ThreadPoolExecutor(4)


def add(number):
    STORE.write(STORE.read() + number)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(str(STORE.read()))

    def do_POST(self):
        asked = parse_qs(urlsplit(self.path).query)
        POOL.submit(add, int(asked["n"][0]))
        self.answer("added")

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
cat >client.py <<'END'
"""Checks the counter: 20 clients, and one that connects and says nothing."""

import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

base = f"http://127.0.0.1:{sys.argv[1]}"


def ask(path, method):
    with urlopen(Request(base + path, method=method), timeout=10) as answer:
        return answer.read().decode()


def adds(number):
    for _ in range(5):
        ask(f"/add?n={number}", "POST")


silent = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
began, before = time.monotonic(), int(ask("/", "GET"))
with ThreadPoolExecutor(20) as pool:
    list(pool.map(adds, range(1, 21)))
after, took = int(ask("/", "GET")), time.monotonic() - began
assert after - before == 5 * sum(range(1, 21)), f"the sum is {after - before}, not {5 * sum(range(1, 21))}"
assert took < 10, f"it took {took:.1f} s"
print("ok")
END
