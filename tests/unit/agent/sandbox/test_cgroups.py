"""Control groups of the second generation, on a folder that has the files a kernel would give.

The first generation is there where our tests run, and is tested with real commands in
tests/integration/sandbox/test_limits.py.
"""

from pathlib import Path

import pytest

from holdfast_agent.sandbox.cgroups import (
    Cgroups,
    Tree,
    _mounts,  # pyright: ignore[reportPrivateUsage]
    _own_groups,  # pyright: ignore[reportPrivateUsage]
    _tree_v2,  # pyright: ignore[reportPrivateUsage]
)
from holdfast_agent.sandbox.options import MIB, SandboxOptions


def options() -> SandboxOptions:
    return SandboxOptions(
        root=Path("/somewhere/workspace"),
        state=Path("/somewhere/state"),
        pids_max=64,
        memory_bytes_max=128 * MIB,
        cpu_share=2.0,
    )


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("\n")
    return tmp_path


def test_the_limits_are_set_on_the_workspaces_group(own: Path) -> None:
    Cgroups([Tree(2, own, frozenset({"pids", "memory", "cpu"}))], options())
    (group,) = own.glob("holdfast-*")

    assert {
        name: (group / name).read_text()
        for name in ("pids.max", "memory.max", "cpu.weight", "cgroup.subtree_control")
    } == {
        "pids.max": "64",
        "memory.max": str(128 * MIB),
        "cpu.weight": "200",
        "cgroup.subtree_control": "+cpu +memory +pids",
    }


def test_we_move_into_a_group_beneath_before_handing_the_controllers_on(own: Path) -> None:
    """A real kernel wants the folder's file to be there; here it is made by whoever writes it."""
    (own / "holdfast-agent").mkdir()
    (tree,) = _tree_v2(own)

    assert tree.kinds == {"pids", "memory", "cpu"}
    assert (own / "holdfast-agent" / "cgroup.procs").read_text().isdigit()
    assert (own / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n", "out of memory"),
        ("memory.events", "low 0\nhigh 0\nmax 3\noom 0\noom_kill 0\n", None),
        ("pids.events", "max 7\n", "too many processes"),
        ("pids.events", "max 0\n", None),
    ],
)
def test_what_the_kernel_counted_is_told(
    own: Path, file: str, text: str, reason: str | None
) -> None:
    groups = Cgroups([Tree(2, own, frozenset({"pids", "memory", "cpu"}))], options())
    (group,) = groups.enter("key")
    (group / file).write_text(text)

    told = groups.ended("key")

    assert (told is None) if reason is None else (told or "").startswith(reason)


def test_a_group_that_takes_no_limits_is_not_used() -> None:
    groups = Cgroups([Tree(2, Path("/proc/self"), frozenset({"pids"}))], options())

    assert groups.missing == ("pids", "memory", "cpu")
    assert groups.enter("key") == []
    assert groups.ended("key") is None


def test_where_we_are_is_read_from_proc() -> None:
    own = _own_groups("5:cpu,cpuacct:/a\n4:pids:/b\n0::/user.slice/x\n")

    assert (own["cpu"], own["pids"], own[""]) == ("/a", "/b", "/user.slice/x")


def test_mounts_are_read_from_proc() -> None:
    text = (
        "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
        "31 24 0:27 /docker/x /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n"
        "32 24 0:28 / /tmp rw - tmpfs tmpfs rw\n"
    )

    assert list(_mounts(text)) == [
        (2, frozenset({"rw", "nsdelegate"}), "/", "/sys/fs/cgroup"),
        (1, frozenset({"rw", "pids"}), "/docker/x", "/sys/fs/cgroup/pids"),
    ]
