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

import units
from units import fathoms, knots

assert fathoms(1.8288) == 1.0 and fathoms(10) == 5.47 and knots(1) == 1.94
assert units.__all__ == ["fathoms", "knots"], units.__all__
for path in Path(".").rglob("*.py"):
    assert path.read_text().startswith("# SPDX-License-Identifier: MIT\n"), path
modules = [p for p in Path("units").glob("*.py") if "def fathoms" in p.read_text()]
assert len(modules) == 1 and modules[0].name not in ("__init__.py", "knots.py"), modules
(function,) = [n for n in ast.walk(ast.parse(modules[0].read_text())) if isinstance(n, ast.FunctionDef) and n.name == "fathoms"]
assert function.returns is not None and all(a.annotation is not None for a in function.args.args)
doc = ast.get_docstring(function)
assert doc and "\n" not in doc, doc
lines = [line for line in Path("CHANGES.md").read_text().splitlines() if line.startswith("- ")]
assert lines == ["- added fathoms", "- added knots"], lines
assert Path("tests", f"test_{modules[0].name}").is_file()
words = [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."]
done = subprocess.run(words, capture_output=True, text=True)
assert done.returncode == 0 and "Ran 1 test" not in done.stderr, done.stderr
END
