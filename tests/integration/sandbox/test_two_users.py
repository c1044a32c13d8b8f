"""The entry point of a workspace's container: real processes under two users."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.two_users import MUTANTS
from tests.support.waits import HANG_S

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
OF_THEIR_OWN = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")


def tried(mutant: str = "", tree: str = "namespace") -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hf-users-") as name:
        Path(name).chmod(0o755)
        command = [sys.executable, "-m", "tests.support.two_users", name, mutant, tree]
        ended = subprocess.run(
            [*OF_THEIR_OWN, *command],
            capture_output=True,
            text=True,
            timeout=6 * HANG_S,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize("tree", ["namespace", "keeper"])
def test_a_command_gets_at_nothing_of_the_agents(tree: str) -> None:
    found = tried(tree=tree)
    assert found["can"] == []
    assert (found["agent"], found["uid"], found["groups"]) == (10003, 10002, [])
    assert found["token left"] is False
    assert found["alive"] == 0, "what it started ends with stop"
    assert found["read"] == "needle\n", "the agent's file tools act for the commands' user"
    assert found["hits"] == ["deep/own", "own"]
    assert found["saved"] is True


@pytest.mark.parametrize(
    ("mutant", "can"), [("one user", "signal the agent"), ("rights go along", "become the agent")]
)
def test_without_a_protection_it_gets_at_more(mutant: str, can: str) -> None:
    assert mutant in MUTANTS
    assert can in tried(mutant, "keeper")["can"]
