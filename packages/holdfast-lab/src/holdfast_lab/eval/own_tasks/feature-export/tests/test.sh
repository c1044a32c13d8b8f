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
import glob
import subprocess


def run(*words):
    done = subprocess.run([sys.executable, "-m", "export", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


assert run("--list").split() == ["markdown", "names", "total"]
wanted = "| name | amount |\n|---|---:|\n| tea | 3 |\n| salt\\|pepper | 12 |\n"
assert run("markdown", "sample.csv") == wanted, run("markdown", "sample.csv")
assert run("total", "sample.csv") == "15\n"
own = [f for f in glob.glob("export/*.py") if '"markdown"' in open(f).read() or "'markdown'" in open(f).read()]
assert len(own) == 1 and not own[0].endswith(("__init__.py", "__main__.py", "names.py", "total.py")), own
END
