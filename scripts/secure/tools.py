"""The tools, each run on a folder, and their findings."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from scripts.gate.stages import ROOT
from scripts.secure.findings import Finding, finding

CODE: Final = ("packages", "scripts", "benchmarks")
SEMGREP: Final = "semgrep==1.182.0"
"""In an environment of its own: it asks for an OpenTelemetry that is older than ours."""
RULES: Final = Path(__file__).with_name("rules.yml")
NOISE: Final = (
    # Names of settings and fields, by the hundred; the values are what the other detectors read.
    "KeywordDetector",
)
HASHES: Final = r"(^|/)(uv\.lock|package-lock\.json)$|\.png$|^build/|node_modules/"
"""Files that are made of hashes, and what is not in git."""


class NotHad(Exception):
    """The data of a tool cannot be had here, such as the list of known weaknesses."""


def bandit(root: Path, folders: Sequence[str]) -> list[Finding]:
    """Findings of medium severity and above; ruff's rules `S` have the low ones."""
    command = (_ours("bandit"), "-q", "-ll", "-r", *folders, "-f", "json")
    told = _json(command, root)
    return [
        finding("bandit", each["test_id"], each["filename"], each["line_number"], root)
        for each in told["results"]
    ]


def semgrep(root: Path, folders: Sequence[str]) -> list[Finding]:
    uv = shutil.which("uv") or "uv"
    scan = ("scan", "--config", str(RULES), "--json", "--metrics=off", "--disable-version-check")
    command = (uv, "tool", "run", "--from", SEMGREP, "semgrep", *scan, "--no-git-ignore", *folders)
    told = _json(command, root)
    wrong = [each for each in told["errors"] if each.get("level") == "error"]
    assert not wrong, wrong
    return [
        finding(
            "semgrep",
            each["check_id"].rpartition(".")[2],
            each["path"],
            each["start"]["line"],
            root,
        )
        for each in told["results"]
    ]


def secrets(root: Path, _folders: Sequence[str]) -> list[Finding]:
    """Of every file in git: keys in known forms, passwords in URLs, and words of high entropy."""
    off = [word for name in NOISE for word in ("--disable-plugin", name)]
    command = (_ours("detect-secrets"), "scan", *off, "--exclude-files", HASHES)
    told = _json(command if (root / ".git").exists() else (*command, "--all-files"), root)
    found: dict[str, list[dict[str, Any]]] = told["results"]
    return [
        finding("secrets", each["type"], path, each["line_number"], root)
        for path, all_of_it in found.items()
        for each in all_of_it
    ]


def python_packages(root: Path, _folders: Sequence[str]) -> list[Finding]:
    """Known weaknesses of what `uv.lock` installs. One package that is not looked up: no answer."""
    with tempfile.TemporaryDirectory(prefix="holdfast-audit-") as folder:
        file = Path(folder, "requirements.txt")
        export = (
            "uv",
            "export",
            "-q",
            "--locked",
            "--no-dev",
            "--no-emit-workspace",
            "-o",
            str(file),
        )
        subprocess.run(export, cwd=root, check=True, stdout=subprocess.DEVNULL)
        audit = (_ours("pip-audit"), "--strict", "--require-hashes", "--disable-pip", "-f", "json")
        told = _json((*audit, "-r", str(file)), root)
    return [
        Finding("pip-audit", weak["id"], "uv.lock", 0, f"{each['name']} {each['version']}")
        for each in told["dependencies"]
        for weak in each["vulns"]
    ]


def page_packages(root: Path, _folders: Sequence[str]) -> list[Finding]:
    """Known weaknesses of what the page ships."""
    told = _json(("npm", "audit", "--omit", "dev", "--json"), root / "ui")
    if "vulnerabilities" not in told:
        raise NotHad(told.get("message", "npm said nothing"))
    return [
        Finding("npm-audit", name, "ui/package-lock.json", 0, str(weak["severity"]))
        for name, weak in told["vulnerabilities"].items()
    ]


Tool = Callable[[Path, Sequence[str]], list[Finding]]
READING: Final[dict[str, Tool]] = {"bandit": bandit, "semgrep": semgrep, "secrets": secrets}
"""Those that read files, and so must notice what is planted in one."""
LOOKING_UP: Final[dict[str, Tool]] = {"pip-audit": python_packages, "npm-audit": page_packages}


def _ours(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _json(command: Sequence[str], root: Path = ROOT) -> dict[str, Any]:
    environment = {**os.environ, "SEMGREP_SEND_METRICS": "off", "NO_UPDATE_NOTIFIER": "1"}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    try:
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise NotHad(f"{Path(command[0]).name} said: {said[:300]}") from None
    return told
