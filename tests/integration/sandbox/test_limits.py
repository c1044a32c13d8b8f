"""Fork bomb, memory hog, endless output, disk filler: bounded, told, and the neighbour lives."""

import asyncio
import os
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from holdfast_agent.faults import Refused
from holdfast_agent.launching import Command
from holdfast_agent.sandbox.bubblewrap import Bubblewrap
from holdfast_agent.sandbox.cgroups import Cgroups, Kind, find_trees
from holdfast_agent.sandbox.opening import open_bubblewrap
from holdfast_lab.chaos.faults.sandbox.wall import (
    Ran,
    begun,
    give,
    ground_of,
    open_wall,
    options_for,
    run,
    workspace,
)

MIB: Final = 1024 * 1024
BOMB: Final = (
    "i=0; while [ $i -lt 400 ]; do (sleep 20 &) 2>/dev/null || break; i=$((i+1)); done;"
    " ls -d /proc/[0-9]* | wc -l"
)
HOG: Final = "/usr/bin/python3 -c 'b = bytearray(600 << 20); print(len(b))'"
NEIGHBOUR: Final = "for i in 1 2 3 4 5; do /bin/true || exit 1; done; echo fine"


def missing() -> Sequence[Kind]:
    with workspace() as root:
        groups = Cgroups(find_trees(), options_for(root))
        try:
            return groups.missing
        finally:
            groups.close()


grouped = pytest.mark.skipif(bool(missing()), reason="this machine gives us no control groups")


@grouped
async def test_a_fork_bomb_is_bounded_and_told_and_its_neighbour_lives() -> None:
    async with open_wall(pids_max=64) as wall, open_wall() as neighbour:
        bomb, other = await _both(wall, BOMB, neighbour)
        where_it_may = await run(neighbour, BOMB)

    assert int(where_it_may.out) > 400
    assert where_it_may.reason is None
    assert bomb.reason == "too many processes: this workspace may have 64 at once"
    assert (other.code, other.out) == (0, "fine\n")


@grouped
async def test_a_memory_hog_is_killed_and_told_and_its_neighbour_lives() -> None:
    async with open_wall(memory_bytes_max=128 * MIB) as wall, open_wall() as neighbour:
        hog, other = await _both(wall, HOG, neighbour)
        again = await run(wall, "echo still usable")
        where_it_may = await run(neighbour, HOG)

    assert (where_it_may.out, where_it_may.reason) == (f"{600 * MIB}\n", None)
    assert hog.code != 0
    assert hog.reason is not None
    assert hog.reason.startswith("out of memory: this workspace may use 128 MiB")
    assert (other.code, other.out) == (0, "fine\n")
    assert (again.out, again.reason) == ("still usable\n", None)


@grouped
async def test_what_lies_in_shm_counts_as_memory() -> None:
    async with open_wall(memory_bytes_max=128 * MIB, tmp_bytes_max=1024 * MIB) as wall:
        ran = await run(wall, "dd if=/dev/zero of=/dev/shm/big bs=1M count=500 2>&1; echo end")

    assert ran.reason is not None
    assert ran.reason.startswith("out of memory")


@grouped
async def test_what_lies_in_tmp_counts_as_memory_of_the_workspace() -> None:
    """Also after the command that wrote it has ended; and what is kept leaves room for the next."""
    async with open_wall(memory_bytes_max=128 * MIB, tmp_bytes_max=1024 * MIB) as wall:
        full = [
            await run(wall, f"dd if=/dev/zero of={place}/big bs=1M count=500 2>&1")
            for place in ("/tmp", "/home/user")
        ]
        hog = await run(wall, "/usr/bin/python3 -c 'bytearray(96 << 20)'")
        mended = await run(wall, "rm /tmp/big ~/big && echo room")
        again = await run(wall, "/usr/bin/python3 -c 'bytearray(96 << 20)' && echo enough")

    assert all("No space left" in ran.out for ran in full)
    assert hog.reason is not None
    assert hog.reason.startswith("out of memory")
    assert (mended.out, mended.reason) == ("room\n", None)
    assert again.out == "enough\n"


@pytest.mark.parametrize("place", ["/tmp", "/home/user", "/dev/shm"])
async def test_what_is_in_memory_has_a_size(place: str) -> None:
    async with open_wall(tmp_bytes_max=4 * MIB) as wall:
        ran = await run(wall, f"dd if=/dev/zero of={place}/big bs=1M count=16 2>&1")

    assert ran.code != 0
    assert "No space left" in ran.out


async def test_the_size_of_tmp_holds_for_all_commands_together() -> None:
    async with open_wall(tmp_bytes_max=4 * MIB) as wall:
        writes = "dd if=/dev/zero of=/tmp/{} bs=1M count=3 2>&1"
        first, second = [await run(wall, writes.format(name)) for name in ("a", "b")]

    assert first.code == 0
    assert "No space left" in second.out


async def test_no_file_grows_beyond_its_bound() -> None:
    async with open_wall(file_bytes_max=8 * MIB) as wall:
        ran = await run(wall, "dd if=/dev/zero of=big bs=1M count=32 2>&1; echo end")
        size = (wall.options.root / "big").stat().st_size

    assert size == 8 * MIB
    assert ran.out.endswith("end\n")


async def test_output_without_end_costs_the_launcher_nothing() -> None:
    """Nobody reads it: it waits in a pipe. (What is read is bounded by the agent's ring.)"""
    async with open_wall() as wall, begun(wall, "yes | head -c 10000000000") as process:
        assert process.stdout is not None
        assert await process.stdout.readexactly(1 * MIB) == b"y\n" * (MIB // 2)
        process.kill()
        async with asyncio.timeout(60):
            await process.communicate()  # read on: `wait` never ends before a pipe that is full
        assert wall.ended("key") is None


@grouped
async def test_a_disk_filler_is_stopped_above_the_floor_and_told() -> None:
    with workspace() as root, _small_disk(root, 256 * MIB):
        options = options_for(root, disk_free_bytes_min=96 * MIB)
        async with open_bubblewrap(options) as wall:
            ran = await run(wall, "while dd if=/dev/zero bs=1M count=8; do sleep 0.1; done >full")
            left = os.statvfs(root).f_bavail * os.statvfs(root).f_frsize
            with pytest.raises(Refused, match="delete something") as refused:
                await run(wall, "true")

    assert ran.reason == "stopped: the disk had less than 96 MiB left"
    assert left > 16 * MIB
    assert "96 MiB" in refused.value.message


async def test_without_control_groups_processes_and_memory_are_still_bounded() -> None:
    async with open_wall(pids_max=64, memory_bytes_max=128 * MIB) as wall:
        poor = _without_groups(wall)
        bomb = await run(poor, BOMB)
        hog = await run(poor, HOG)
        report = await poor.check()

    assert "fork" in bomb.out
    assert hog.code != 0
    assert "MemoryError" in hog.out
    assert report.works
    assert [warning.split()[0] for warning in report.warnings] == ["Processes", "Memory", "A"]


@grouped
async def test_groups_are_gone_when_their_command_is() -> None:
    async with open_wall() as wall:
        groups = ground_of(wall).cgroups
        for _ in range(3):
            with wall.launch(Command(argv=("true",), env={}), "never spawned"):
                pass
            wall.ended("never spawned")
        await run(wall, "true")
        left = _folders(groups)
    after = _folders(groups)

    assert left
    assert all(not any(path.glob("c[0-9]*")) for path in left)
    assert after == []


@grouped
async def test_groups_are_gone_although_a_command_was_killed_just_before() -> None:
    async with open_wall() as wall:
        groups = ground_of(wall).cgroups
        async with begun(
            wall, "for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; echo up; wait"
        ) as process:
            assert process.stdout is not None
            assert await process.stdout.readline() == b"up\n"
            assert _folders(groups)

    assert _folders(groups) == []


def _folders(groups: Cgroups) -> Sequence[Path]:
    return [path for path in groups.folders if path.exists()]


def _without_groups(wall: Bubblewrap) -> Bubblewrap:
    ground = ground_of(wall)
    return Bubblewrap(wall.options, replace(ground, cgroups=Cgroups((), wall.options)))


async def _both(wall: Bubblewrap, script: str, neighbour: Bubblewrap) -> tuple[Ran, Ran]:
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(run(wall, script))
        second = tasks.create_task(run(neighbour, NEIGHBOUR))
    return first.result(), second.result()


@contextmanager
def _small_disk(root: Path, size: int) -> Generator[None]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk of its own")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "disk", root], check=True)
    try:
        give(root)
        yield
    finally:
        subprocess.run(["umount", root], check=True)
