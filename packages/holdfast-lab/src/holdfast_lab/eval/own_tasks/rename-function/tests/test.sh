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
import re
from pathlib import Path

texts = {str(p): p.read_text() for p in [*Path(".").rglob("*.py"), *Path(".").rglob("*.md")]}
left = [name for name, text in texts.items() if re.search(r"get_usr(?!_group)", text)]
assert not left, left
import app
from app.web import handle

assert app.find_user("ada") == "ada" and app.find_user("eve") is None
assert "find_user" in app.__all__ and "get_usr_group" in app.__all__
assert handle("user", "bob") == "bob" and handle("group", "bob") == "staff"
assert app.get_usr_group("ada") == "admin"
assert "`find_user(name)`" in texts["docs/users.md"] and "`get_usr_group(name)`" in texts["docs/users.md"]
assert "app.find_user(" in texts["test_users.py"]
END
