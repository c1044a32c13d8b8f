#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >replay.py <<'END'
"""Replays requests; the same every time."""

state = 20260105


def chance(limit):
    global state
    state = (state * 1103515245 + 12345) % 2**31
    return (state >> 8) % limit


PATHS = ["/", "/chats", "/events", "/login", "/models", "/search", "/static/app.js", "/users"]
for second in range(0, 86400, 2):
    if chance(100) < 7:
        continue
    path = PATHS[chance(8)]
    draw = chance(1000)
    status = 503 if draw < 4 + 9 * (path == "/search") else 500 if draw < 18 else 404 if draw < 60 else 200
    took = chance(700) + (chance(900) if chance(40) == 0 else 0)
    print(f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} {path} {status} {took}")
END
