"""A tree that somebody unpacked, `.git` and all, in which git's settings name programs."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HOOKS: Final = ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-checkout",
                "post-index-change", "pre-auto-gc", "reference-transaction")  # fmt: skip
COMMANDS: Final = (
    ("git", "status"),
    ("git", "diff"),
    ("git", "diff", "HEAD~1"),
    ("git", "log", "-p", "--show-signature", "-2"),
    ("git", "add", "-A"),
    ("git", "diff", "--cached"),
    ("git", "commit", "-q", "-m", "work"),
    ("git", "checkout", "-q", "-b", "other"),
    ("git", "stash", "list"),
    ("git", "blame", "data.txt"),
    ("git", "-C", "inner", "status"),
    ("git", "-C", "bare.git", "log"),
)
WORKED: Final = ("deep/er/down", "elsewhere")
"""Repositories further down: one deep, one whose `.git` is a file that names a folder."""
IN_EACH: Final = (
    ("git", "status"),
    ("git", "diff"),
    ("git", "add", "-A"),
    ("git", "commit", "-q", "-m", "work"),
)
_WHO: Final = {
    f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


@dataclass(frozen=True)
class Hostile:
    """`root`: the tree. Whatever of it runs leaves its name in `ran`."""

    root: Path
    ran_file: Path

    @property
    def ran(self) -> set[str]:
        return set(self.ran_file.read_text().split()) if self.ran_file.exists() else set()

    @property
    def script(self) -> str:
        """All of the commands, for a shell in the tree's folder."""
        lines = [" ".join(command) for command in COMMANDS]
        lines += [
            " ".join((*command[:1], "-C", folder, *command[1:]))
            for folder in WORKED
            for command in IN_EACH
        ]
        who = "; ".join(f"export {name}='{value}'" for name, value in _WHO.items())
        return "\n".join([who, *lines])

    def run(self, env: Mapping[str, str], *command: str) -> "subprocess.CompletedProcess[str]":
        base = {"PATH": os.environ["PATH"], "HOME": str(self.ran_file.parent), "LC_ALL": "C"}
        return subprocess.run(
            command,
            cwd=self.root,
            env={**base, **_WHO, **env},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=100,
        )


def hostile_tree(root: Path, ran: Path, *, seen_as: str | None = None) -> Hostile:
    """In `root`, which commands know as `seen_as`; `ran` lies outside, or in it."""
    made = Hostile(root, ran)
    folders = ("inner", *WORKED, ".")
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
        made.run({}, "git", "-C", folder, "init", "-q")
    for folder in folders:  # the outer one has the inner one as a submodule
        for text in ("first", "second"):
            (root / folder / "data.txt").write_text(f"{text}\n")
            made.run({}, "git", "-C", folder, "add", "data.txt", ".")
            assert made.run({}, "git", "-C", folder, "commit", "-qm", text).returncode == 0
    made.run({}, "git", "clone", "-q", "--bare", ".", "bare.git")
    (root / "stored").mkdir()
    (root / "elsewhere/.git").rename(root / "stored/repository")
    (root / "elsewhere/.git").write_text("gitdir: ../stored/repository\n")
    for folder in (".git", "inner/.git", "deep/er/down/.git", "stored/repository", "bare.git"):
        _poison(root, folder, seen_as or str(root), ran)
    for folder in folders:
        (root / folder / ".gitattributes").write_text("*.txt filter=evil diff=evil merge=evil\n")
        (root / folder / "data.txt").write_text("third\n")
    assert made.ran == set()
    return made


def _poison(root: Path, folder: str, seen_as: str, ran: Path) -> None:
    inside = f"{seen_as}/{ran.relative_to(root)}" if ran.is_relative_to(root) else str(ran)
    where = folder.replace("/", "-")

    def program(name: str) -> str:
        path = root / folder / f"evil-{name}"
        path.write_text(f"#!/bin/sh\necho {name} in-{where} >> {inside}\nexec cat\n")
        path.chmod(0o755)
        return f"{seen_as}/{folder}/evil-{name}"

    (root / folder / "hooks").mkdir(exist_ok=True)
    for name in HOOKS:
        program(name)
        (root / folder / f"evil-{name}").rename(root / folder / "hooks" / name)
    (root / folder / "more").write_text(f'[diff "evil"]\n\ttextconv = {program("textconv")}\n')
    with (root / folder / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {program('fsmonitor')}\n\tpager = {program('pager')}\n"
            f"\teditor = {program('editor')}\n\tsshCommand = {program('ssh')}\n"
            f'[filter "evil"]clean = {program("clean")}\n\tsmudge = {program("smudge")}\n'
            f"\trequired = true\n"
            f"[diff]\n\texternal = {program('external')}\n"
            f"[gpg]\n\tprogram = {program('gpg')}\n[commit]\n\tgpgSign = true\n"
            f"[log]\n\tshowSignature = true\n[include]\n\tpath = more\n"
        )
