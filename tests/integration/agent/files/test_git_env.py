"""A hostile tree under git: opened, compared and committed without running any of its code."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from holdfast.agent.git_env import NO_GIT, git_env, harmless
from tests.support.agent_files import Place

HOOKS = ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-checkout",
         "post-index-change", "pre-auto-gc", "reference-transaction")  # fmt: skip
COMMANDS = (
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


def git(place: Place, env: Mapping[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    base = {"PATH": os.environ["PATH"], "HOME": str(place.outside), "LC_ALL": "C"}
    author = {
        f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return subprocess.run(
        command,
        cwd=place.root,
        env={**base, **author, **env},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=100,
    )


@pytest.fixture
def hostile(place: Place) -> Place:
    """Its owner unpacked it, `.git` and all. Whatever runs leaves its name in `outside/ran`."""
    for folder in (".", "inner"):
        (place.root / folder).mkdir(exist_ok=True)
        git(place, {}, "git", "-C", folder, "init", "-q")
    place.write("data.txt", "one\n")
    place.write("inner/data.txt", "one\n")
    for folder in ("inner", "."):  # the outer one has the inner one as a submodule
        for text in ("first", "second"):
            place.write(f"{folder}/data.txt", f"{text}\n")
            git(place, {}, "git", "-C", folder, "add", "data.txt", ".")
            assert git(place, {}, "git", "-C", folder, "commit", "-qm", text).returncode == 0
    git(place, {}, "git", "clone", "-q", "--bare", ".", "bare.git")
    for folder in (".git", "inner/.git", "bare.git"):
        _poison(place, folder)
    place.write(".gitattributes", "*.txt filter=evil diff=evil merge=evil\n")
    place.write("inner/.gitattributes", "*.txt filter=evil diff=evil\n")
    place.write("data.txt", "third\n")
    place.write("inner/data.txt", "third\n")
    assert _ran(place) == set()
    return place


def _poison(place: Place, folder: str) -> None:
    def program(name: str) -> str:
        path = place.root / folder / f"evil-{name}"
        path.write_text(f"#!/bin/sh\necho {name} >> {place.outside}/ran\nexec cat\n")
        path.chmod(0o755)
        return str(path)

    (place.root / folder / "hooks").mkdir(exist_ok=True)
    for name in HOOKS:
        Path(program(name)).rename(place.root / folder / "hooks" / name)
    more = place.root / folder / "more"
    more.write_text(f'[diff "evil"]\n\ttextconv = {program("textconv")}\n')
    with (place.root / folder / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {program('fsmonitor')}\n\tpager = {program('pager')}\n"
            f"\teditor = {program('editor')}\n\tsshCommand = {program('ssh')}\n"
            f'[filter "evil"]clean = {program("clean")}\n\tsmudge = {program("smudge")}\n'
            f"\trequired = true\n"
            f"[diff]\n\texternal = {program('external')}\n"
            f"[gpg]\n\tprogram = {program('gpg')}\n[commit]\n\tgpgSign = true\n"
            f"[log]\n\tshowSignature = true\n[include]\n\tpath = more\n"
        )


def _ran(place: Place) -> set[str]:
    ran = place.outside / "ran"
    return set(ran.read_text().split()) if ran.exists() else set()


def test_nothing_of_it_is_run(hostile: Place) -> None:
    env = git_env(hostile.beneath, str(hostile.root))

    answers = [git(hostile, env, *command) for command in COMMANDS]

    assert _ran(hostile) == set()
    by_command = dict(zip(COMMANDS, answers, strict=True))
    assert "data.txt" in by_command[("git", "status")].stdout
    assert "+third" in by_command[("git", "diff")].stdout
    assert by_command[("git", "commit", "-q", "-m", "work")].returncode == 0
    assert by_command[("git", "blame", "data.txt")].returncode == 0
    # A bare one that lies in a tree is not even opened: it could have come with a clone.
    assert "bareRepository" in by_command[("git", "-C", "bare.git", "log")].stderr


def test_in_a_plain_environment_it_is(hostile: Place) -> None:
    """The mutant."""
    for command in COMMANDS:
        git(hostile, {}, *command)

    assert _ran(hostile) >= {"fsmonitor", "clean", "external"}
    assert _ran(hostile) & set(HOOKS)


@pytest.mark.parametrize("without", ["filter.evil.clean", "core.fsmonitor", "diff.external"])
def test_each_of_the_settings_is_needed(hostile: Place, without: str) -> None:
    """Mutants: one protection less."""
    env = git_env(hostile.beneath, str(hostile.root))
    count = int(env["GIT_CONFIG_COUNT"])
    for number in range(count):
        if env[f"GIT_CONFIG_KEY_{number}"] == without:
            env[f"GIT_CONFIG_KEY_{number}"] = "unused.key"

    for command in COMMANDS:
        git(hostile, env, *command)

    assert _ran(hostile) == {without.rpartition(".")[2]}


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        ('[filter "a b\\"c"]\nclean=x', [('filter.a b"c.clean', "")]),
        ('[a][FILTER "x"] PROCESS = y', [("filter.x.process", "")]),
        ("[filter.Old]\n  smudge = y", [("filter.old.smudge", "")]),
        ('[merge "m"]\n driver = y\n name = z', [("merge.m.driver", "git merge-file %A %O %B")]),
        ('[filter "x"]\n\t# clean = y\n', []),
        ('[user]\n name = "[filter \\"x\\"]"\n', []),
        ("not a configuration \0", []),
    ],
)
def test_what_runs_something_is_found_however_it_is_written(
    config: str, settings: list[tuple[str, str]]
) -> None:
    assert harmless(config) == settings


def test_a_configuration_too_large_to_look_through_switches_git_off(place: Place) -> None:
    place.write(".git/config", "#" * 300_000 + '\n[filter "x"]\nclean = y\n')

    assert git_env(place.beneath, "/workspace")["GIT_DIR"] == NO_GIT

    place.write(".git/config", "".join(f'[filter "f{n}"]\nclean = y\n' for n in range(5000)))

    assert git_env(place.beneath, "/workspace")["GIT_DIR"] == NO_GIT


def test_a_configuration_that_leads_out_is_not_read(place: Place) -> None:
    (place.outside / "secret.txt").write_text('[filter "secret"]\nclean = y\n')
    place.write(".git/config", "[include]\n\tpath = ../../outside/secret.txt\n")

    assert "secret" not in str(git_env(place.beneath, "/workspace"))
