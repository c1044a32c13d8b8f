"""A weak line for each rule: a tool that does not notice its own protects nothing."""

import tempfile
from pathlib import Path
from typing import Final

from scripts.secure.tools import READING

PLANTED: Final = {
    ("semgrep", "sql-from-values"): 'def f(c, x): c.execute(f"select {x}")',
    ("semgrep", "shell"): 'import os\nos.system("ls")',
    ("semgrep", "unpickle"): 'import pickle\npickle.loads(b"")',
    ("semgrep", "tls-off"): "def f(get): get(verify=False)",
    ("semgrep", "weak-hash"): 'import hashlib\nhashlib.md5(b"")',
    ("semgrep", "redirects"): "def f(get): get(follow_redirects=True)",
    ("semgrep", "archive"): 'import shutil\nshutil.unpack_archive("a.zip")',
    ("semgrep", "temporary-name"): "import tempfile\ntempfile.mktemp()",
    ("semgrep", "proxies-of-the-environment"): "import aiohttp\naiohttp.ClientSession()",
    ("semgrep", "chance-for-secrets"): "import random\nrandom.getrandbits(256)",
    ("semgrep", "secret-compared"): "def f(given, token): return token == given",
    ("bandit", "B602"): 'import subprocess\ndef f(x): subprocess.run(f"ls {x}", shell=True)',
    ("bandit", "B501"): 'import requests\nrequests.get("https://x", verify=False, timeout=1)',
    ("secrets", "AWS Access Key"): 'key = "AKIA' + "IOSFODNN7" + 'EXAMPLQ"',
    ("secrets", "Private Key"): 'pem = "-----BEGIN RSA ' + 'PRIVATE KEY-----"',
}
"""Tool and rule, and the code. Never run."""


def unnoticed() -> list[str]:
    """The rules whose planted line is not found in its file."""
    with tempfile.TemporaryDirectory(prefix="holdfast-planted-") as name:
        root = Path(name)
        files = {key: f"planted_{number}.py" for number, key in enumerate(PLANTED)}
        for key, file in files.items():
            (root / file).write_text(PLANTED[key] + "\n")
        found = {
            (each.tool, each.rule, each.path)
            for tool in READING.values()
            for each in tool(root, sorted(files.values()))
        }
    return [
        f"{tool} {rule}" for (tool, rule), file in files.items() if (tool, rule, file) not in found
    ]
