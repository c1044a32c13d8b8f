"""The wall attacked from within: nothing gets out; without a protection, its attacks do."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest

from holdfast_agent.faults import Refused
from holdfast_agent.launching import Command
from holdfast_agent.sandbox.bubblewrap import Bubblewrap
from holdfast_agent.sandbox.opening import open_bubblewrap
from holdfast_agent.wire import FaultCode
from holdfast_lab.chaos.faults.sandbox import breached
from holdfast_lab.chaos.faults.sandbox.breached import (
    MUTANTS,
    attacked_through,
    attacked_with_open_proxy,
)
from holdfast_lab.chaos.faults.sandbox.wall import open_wall, options_for, workspace
from tests.requirements import requirement

KERNEL_SAYS_NO: Final = {
    # An ordinary user may not do these on any machine of ours; that the filter forbids them as well
    # is shown in tests/unit/agent/sandbox/test_seccomp.py.
    "joins the namespaces of process 1",
    "loads a bpf program",
    "loads a module",
    "makes a device",
    "opens a file by handle",
    "opens the emergency keys",
    "reads the kernels log",
    "reads the machines memory",
    "uses the kernels cryptography",
    "watches the processor",
}
AS_ROOT: Final = {"reads the password file", "sets the core pattern", "writes to usr"}
"""Only seen to get out where the agent runs as root and sees the whole disk."""
EXPECTED: Final = {
    # What must get out at least: other kernels may let more through.
    "Unfiltered": {
        "sets the suid bit",
        "traces a process",
        "reads the memory of a process",
        "uses the kernels keys",
        "speaks to the packet filter",
    },
    "Writable": {"writes to the root", "writes to etc", "writes to dev"},
    "OpenGit": {
        "plants a hook",
        "writes the configuration of git",
        "puts another configuration in its place",
        "moves git aside",
    },
    "SharedProcesses": {"sees processes of the host", "signals a process of the host"},
    "SharedCgroups": {"sees the control groups of the host"},
    "Privileged": {"has capabilities", "makes other namespaces"},
    "Nesting": {
        "makes a user namespace",
        "makes a namespace with clone",
        "makes a namespace with clone3",
        "mounts something",
        "mounts in the new way",
        "copies a mount",
        "unmounts what hides things",
        "changes its root",
        "has a raw socket",
    },
    "WholeDisk": {
        "reads a secret of the host",
        "reads another workspace",
        "follows a link out of the workspace",
        "follows a link out of tmp",
        "reaches a unix socket of the host through tmp",
        "reads through the root of a process",
        "sees folders of the host",
        "connects to a unix socket of the host",
        "sees sys",
    },
    "HostNetwork": {
        "reaches a server on the hosts loopback",
        "has an interface beside lo",
        "connects to an abstract socket",
    },
    "Chatty": {"reads the environment of the launcher"},
    "Careless": {"finds a secret in its own environment"},
    "Plain": {"reads the arguments of the launcher"},
    "Leaky": {"finds an open descriptor"},
    "Bare": {"reads a secret of the host", "makes the root writable again", "becomes root"},
}


@pytest.fixture
async def wall() -> AsyncGenerator[Bubblewrap]:
    async with open_wall() as opened:
        yield opened


@requirement("X3", "T25")
async def test_nothing_gets_out(wall: Bubblewrap) -> None:
    report = await wall.check()

    assert report.escapes == ()
    assert report.works
    assert report.attacks >= 60


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be root")
async def test_nothing_gets_out_where_the_agent_runs_as_root() -> None:
    with workspace() as root:
        os.chown(root, 0, 0)
        async with open_bubblewrap(options_for(root)) as wall:
            report = await wall.check()

    assert report.escapes == ()
    assert any("chown" in warning for warning in report.warnings)


@requirement("T25", "T26")
async def test_every_attack_is_real(wall: Bubblewrap) -> None:
    """It gets out where its protection is missing, or is known to need more than we ever have."""
    out: dict[str, set[str]] = {}
    names: set[str] = set()
    for name, mutant in MUTANTS.items():
        attacked = await attacked_through(wall, mutant)
        out[name] = set(attacked.escapes)
        names = {result.attack for result in attacked.results}
    out["proxy"] = set((await attacked_with_open_proxy(wall)).escapes)

    assert {name: expected - out[name] for name, expected in EXPECTED.items()} == {
        name: set() for name in EXPECTED
    }
    assert "is let out by the proxy" in out["proxy"]
    hardware = {"opens a disk or the memory", "reaches the internet", "reaches the clouds metadata"}
    kernel = {"uses io uring", "handles page faults", "types into the terminal"}
    never = names - set[str]().union(*out.values())
    assert never <= KERNEL_SAYS_NO | AS_ROOT | hardware | kernel | {
        "sends a datagram",
        "speaks to the hypervisor",
        "uses a call that nobody has checked",
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be root")
async def test_what_only_root_could_reach_is_behind_the_wall_too() -> None:
    with workspace() as root:
        os.chown(root, 0, 0)
        async with open_bubblewrap(options_for(root)) as wall:
            attacked = await attacked_through(wall, breached.WholeDisk)

    assert set(attacked.escapes) >= AS_ROOT


async def test_a_wall_that_leaks_refuses_to_work_and_says_how_to_mend_it(wall: Bubblewrap) -> None:
    report = await breached.Unfiltered(wall.options, wall.ground).check()

    assert not report.works
    assert any("suid" in sentence and "SECCOMP" in sentence for sentence in report.escapes)


async def test_sys_cannot_be_shown_to_commands() -> None:
    async with open_wall(readable=(Path("/sys/kernel"),)) as wall:
        report = await wall.check()

    assert not report.works
    assert "--readable" in report.escapes[0]


async def test_without_bubblewrap_nothing_runs_and_the_report_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with workspace() as root:
        async with open_bubblewrap(options_for(root)) as wall:
            report = await wall.check()
            with (
                pytest.raises(Refused) as refused,
                wall.launch(Command(argv=("true",), env={}), "k"),
            ):
                pass

    assert not report.works
    assert "install the package 'bubblewrap'" in report.escapes[0]
    assert refused.value.code is FaultCode.NO_SHELL


async def test_the_agents_own_folder_must_not_lie_in_the_workspace() -> None:
    with workspace() as root:
        async with open_bubblewrap(options_for(root, state=root / "state")) as wall:
            report = await wall.check()

    assert not report.works
    assert "--state" in report.escapes[0]


@pytest.mark.parametrize("cwd", ["/etc", "..", "a/../../b", "\0"])
async def test_a_folder_outside_is_refused(wall: Bubblewrap, cwd: str) -> None:
    command = Command(argv=("true",), env={}, cwd=cwd)
    with pytest.raises(Refused) as refused, wall.launch(command, "key"):
        pass

    assert refused.value.code is FaultCode.OUTSIDE
