"""What an agent reports of the system that commands run in."""

import os
from pathlib import Path

import pytest

from holdfast_agent.sandbox.options import SandboxOptions
from holdfast_agent.serving import AgentConfig, Unix, surroundings
from holdfast_agent.surroundings import system_facts


def executable(path: Path) -> Path:
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return path


def test_known_programs_on_the_path_are_reported_with_the_version_in_their_name(
    tmp_path: Path,
) -> None:
    os.symlink(executable(tmp_path / "python3.12").name, tmp_path / "python3")
    executable(tmp_path / "git")
    (tmp_path / "node").write_text("not executable")
    facts = system_facts(str(tmp_path))
    assert facts.commands == ("git", "python3.12")
    assert facts.os
    assert facts.arch


@pytest.mark.parametrize(
    ("sandbox", "hosts", "network"),
    [("bubblewrap", ("a.example",), "hosts"), ("bubblewrap", (), "none"),
     ("external", (), "unknown")],
)  # fmt: skip
def test_network_is_what_the_sandbox_allows(
    tmp_path: Path, sandbox: str, hosts: tuple[str, ...], network: str
) -> None:
    wall = SandboxOptions(root=tmp_path, state=tmp_path / "state", allow_hosts=hosts)
    listen = Unix(tmp_path / "s")
    config = AgentConfig(
        wall=wall, listen=listen, sandbox="external" if sandbox == "external" else "bubblewrap"
    )
    found = surroundings(config, {"PATH": str(tmp_path)})
    assert (found.network, found.hosts) == (network, hosts)
