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

assert not Path("shop.py").exists()
files = sorted(Path("shop").rglob("*.py"))
assert len(files) >= 4, files
trees = {}
for path in files:
    text = path.read_text()
    assert len(text.splitlines()) <= 80, path
    trees[path.stem] = ast.parse(text)
edges = {}
for name, tree in trees.items():
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            assert not any(isinstance(n, (ast.Import, ast.ImportFrom)) for n in ast.walk(node)), name
        if name == "__init__":
            continue
        if isinstance(node, ast.Import):
            assert all(a.name != "shop" for a in node.names), name
            edges.setdefault(name, set()).update(a.name.split(".")[1] for a in node.names if a.name.startswith("shop."))
        if isinstance(node, ast.ImportFrom):
            assert node.module != "shop" and not (node.level and not node.module), name
            if node.level or (node.module or "").startswith("shop."):
                edges.setdefault(name, set()).add((node.module or "").split(".")[-1])


def visit(name, path=()):
    assert name not in path, path
    for other in edges.get(name, ()):
        visit(other, (*path, name))


for name in trees:
    visit(name)
import shop

names = ["CURRENCY", "RATES", "DISCOUNTS", "ZONES", "ShopError", "Good", "Order", "best_discount", "total", "shown", "report"]
names += [f"discount_{n:02}" for n in range(1, 19)] + [f"shipping_zone_{n:02}" for n in range(1, 13)]
missing = [name for name in names if not hasattr(shop, name)]
assert not missing, missing
said = subprocess.run([sys.executable, "shop_report.py"], capture_output=True, text=True)
assert said.returncode == 0, said.stderr
import hashlib

assert hashlib.sha256(said.stdout.encode()).hexdigest() == "8219a7332bca9c34cbf0d75b74b274daecf16958620aef0b16e2bc3055eaaa50", said.stdout[-300:]
END
