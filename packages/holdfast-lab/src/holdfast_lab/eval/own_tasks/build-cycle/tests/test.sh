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
import ast
import subprocess
from pathlib import Path

for first in ("-m store", "-c import_items", "-c import_basket"):
    words = {"-m store": ["-m", "store"], "-c import_items": ["-c", "import store.items"], "-c import_basket": ["-c", "import store.basket"]}[first]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert first != "-m store" or done.stdout == "3 items, 42 cents\n", done.stdout
for path in Path("store").glob("*.py"):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            assert not any(isinstance(n, (ast.Import, ast.ImportFrom)) for n in ast.walk(node)), path
from store import basket, items

assert items.describe(items.Item("tea", 5)) == "tea, 5 cents"
assert items.describe(basket.EMPTY) == "0 items, 0 cents"
assert isinstance(basket.EMPTY, basket.Basket)
END
