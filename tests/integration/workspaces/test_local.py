"""Workspaces on this machine: one agent per folder, nothing of the server in it, nothing left."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.adapters.workspaces import detached, folders, local
from holdfast.adapters.workspaces.client import AgentClient
from holdfast.adapters.workspaces.provisioning import ProvisionFailed
from holdfast.domain.workspaces import Workspace
from tests.support.workspaces import Yard, a_workspace, counted_agent


async def start_at_once(yard: Yard, workspace: Workspace) -> None:
    """Two servers of which each thinks that the workspace is its own to start."""
    servers = [yard.local(agent=counted_agent(0.3)) for _ in range(2)]
    async with asyncio.timeout(90), asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(server.start(workspace)) for server in servers for _ in range(3)]
    assert len({each.result() for each in asked}) == 1


async def test_an_agent_is_started_once_whoever_starts_it(yard: Yard) -> None:
    workspace = a_workspace()
    await start_at_once(yard, workspace)
    assert (len(yard.agents), yard.boots(workspace)) == (1, 1)


async def test_without_the_lock_there_would_be_several(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_lock(_lock: int) -> bool:
        return True

    monkeypatch.setattr(local, "_locks", no_lock)
    workspace = a_workspace()
    try:
        await start_at_once(yard, workspace)
    except* ProvisionFailed:
        pass  # the agent's own lock is the third wall
    assert yard.boots(workspace) > 1


def check_is_clean(agent: int, folder: Path) -> None:
    environment = Path(f"/proc/{agent}/environ").read_bytes()
    assert b"canary" not in environment
    assert b"EXTRA=given" in environment
    files = Path(f"/proc/{agent}/fd")
    opened: dict[str, str] = {}
    for each in files.iterdir():
        with suppress(FileNotFoundError):  # it works meanwhile: what it closed is not left open
            opened[each.name] = str(each.readlink())
    assert opened["0"] == "/dev/null"
    assert opened["1"] == opened["2"] == str(folder / "agent.log")
    assert "/dev/zero" not in opened.values()
    assert str(folder / "lock") not in opened.values()


async def test_an_agent_has_nothing_of_its_server(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_CANARY", "canary-4711")
    left_open = os.open("/dev/zero", os.O_RDONLY)
    workspace = a_workspace()
    address = await yard.local(env={"EXTRA": "given"}).start(workspace)
    (agent,) = yard.agents
    assert os.getsid(agent) == agent, "a session of its own: no Ctrl-C of ours reaches it"
    check_is_clean(agent, yard.folder / str(workspace.workspace_id))
    os.close(left_open)
    async with AgentClient(address) as client:
        assert (await client.about()).sandbox.mode == "external"
    folder = yard.folder / str(workspace.workspace_id)
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_an_agent_that_hangs_is_ended_and_started_anew(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "GRACE_S", 0.3)
    monkeypatch.setattr("holdfast.adapters.workspaces.probing.ANSWER_S", 0.5)
    workspace, machine = a_workspace(), yard.local(stop_s=0.3)
    await machine.start(workspace)
    (frozen,) = yard.agents
    os.kill(frozen, signal.SIGSTOP)
    assert await machine.find(workspace) is None
    await machine.start(workspace)
    assert frozen not in yard.agents
    assert len(yard.agents) == 1


async def test_an_agent_that_was_written_down_nowhere_is_found_and_stopped(yard: Yard) -> None:
    """Killed after it started the agent, a server wrote down no number."""
    workspace, machine = a_workspace(), yard.local()
    await machine.start(workspace)
    (yard.folder / str(workspace.workspace_id) / "agent.json").unlink()
    await machine.start(workspace)
    assert yard.boots(workspace) == 1
    await machine.stop(workspace)
    await machine.stop(workspace)
    assert yard.agents == []


async def test_a_number_that_is_somebody_elses_by_now_is_not_believed(yard: Yard) -> None:
    workspace, machine = a_workspace(), yard.local()
    await machine.start(workspace)
    await machine.stop(workspace)
    record = yard.folder / str(workspace.workspace_id) / "agent.json"
    bystander = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        detached.keep(detached.Detached(bystander.pid, "another boot:1"), record)
        await machine.stop(workspace)
        assert bystander.returncode is None
        await machine.start(workspace)
        assert bystander.returncode is None
    finally:
        bystander.kill()
        await bystander.wait()
    assert len(yard.agents) == 1


async def test_deleting_follows_no_link_and_no_depth_or_mode_stops_it(yard: Yard) -> None:
    workspace, machine = a_workspace(), yard.local()
    await machine.start(workspace)
    outside = yard.folder.parent / "outside"
    (outside / "inner").mkdir(parents=True)
    (outside / "inner" / "precious").write_text("kept")
    outside.chmod(0o751)
    files = yard.files(workspace)
    (files / "link").symlink_to(outside)
    (files / "dangling").symlink_to("/no/such/place")
    (files / "line\nbreak").write_text("x")
    os.mkfifo(files / "pipe")
    closed = files / "closed"
    (closed / "in").mkdir(parents=True)
    (closed / "in" / "file").write_text("x")
    closed.chmod(0)
    deep = os.open(files, os.O_RDONLY)
    for _ in range(3_000):  # deeper than any path is long, and than Python recurses
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)

    await machine.delete(workspace)

    assert (yard.agents, yard.folders) == ([], [])
    assert (outside / "inner" / "precious").read_text() == "kept"
    assert outside.stat().st_mode & 0o777 == 0o751
    await machine.delete(workspace)


def test_what_an_interrupted_removal_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".gone-w" / "1" / "below").mkdir(parents=True)
    (tmp_path / "w" / "1").mkdir(parents=True)
    (tmp_path / "w" / "1" / "file").write_text("x")
    (tmp_path / "other").mkdir()
    folders.remove(tmp_path, "w")
    assert [each.name for each in tmp_path.iterdir()] == ["other"]


def test_a_workspace_that_became_a_link_loses_only_the_link(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("kept")
    (tmp_path / "w").symlink_to(tmp_path / "precious")
    folders.remove(tmp_path, "w")
    assert (tmp_path / "precious" / "file").read_text() == "kept"
    assert not (tmp_path / "w").is_symlink()


async def test_a_log_that_grows_begins_anew(yard: Yard) -> None:
    workspace, machine = a_workspace(), yard.local()
    await machine.start(workspace)
    log = yard.folder / str(workspace.workspace_id) / "agent.log"
    with log.open("ab") as file:
        file.write(b"x" * (detached.LOG_BYTES_MAX + 1))
    await machine.tidy()
    assert log.stat().st_size == 0


async def test_a_folder_that_cannot_be_used_is_said_so(yard: Yard) -> None:
    yard.folder.write_text("a file is in the way")
    with pytest.raises(ProvisionFailed, match="HOLDFAST_WORKSPACES_FOLDER"):
        await yard.local().start(a_workspace())
    yard.folder.unlink()
