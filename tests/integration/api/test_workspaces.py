"""Workspaces over HTTP, in the SDK and on the command line, with real agents."""

import os
import signal
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from holdfast_client import AsyncClient
from holdfast_client.errors import NotFoundError
from holdfast_lab.chaos.harness.folders import running_in, short_folder
from tests.requirements import requirement
from tests.support.replica import Replicas
from tests.support.web import Cell, a_cell

LOCAL = {
    "kind": "local",
    "name": "local",
    "description": "Here.",
    "sandbox": "external",
    "start_s": 120,
}


@pytest.fixture
def folder() -> Generator[Path]:
    with short_folder() as made:
        try:
            yield made
        finally:
            for pid in running_in(made):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
async def yard(empty: Replicas, folder: Path) -> AsyncGenerator[Cell]:
    templates = [LOCAL, {**LOCAL, "name": "brief", "ttl_s": 600}]
    async with a_cell(
        empty, origins="http://ours.example", templates=templates, workspaces_folder=folder / "w"
    ) as cell:
        yield cell


async def test_one_more_than_one_may_have_is_refused_by_its_code(
    empty: Replicas, folder: Path
) -> None:
    async with a_cell(
        empty, templates=[LOCAL], workspaces_folder=folder / "w", workspaces_per_user_max=1
    ) as cell:
        chats = [await cell.admin.new_chat() for _ in range(2)]
        made, refused = [
            await cell.admin.ask("PUT", f"chats/{chat}/workspace", {}) for chat in chats
        ]
    assert made.status in (200, 202), made.raw
    assert (refused.status, refused.code) == (409, "too_many_workspaces")
    assert "HOLDFAST_WORKSPACES_PER_USER_MAX" in refused.json["detail"]


@requirement("L108")
async def test_a_workspace_from_beginning_to_end(yard: Cell, folder: Path) -> None:
    admin = yard.admin
    offered = (await admin.get("workspace-templates")).json["data"]
    assert [(each["name"], each["ttl_seconds"]) for each in offered] == [
        ("local", None),
        ("brief", 600),
    ]
    chat = f"chats/{await admin.new_chat()}"
    where = f"{chat}/workspace"
    assert (await admin.get(where)).code == "workspace_not_found"
    for verb in ("start", "stop"):
        assert (await admin.post(f"{where}/{verb}")).code == "workspace_not_found"
    assert (await admin.ask("DELETE", where)).code == "workspace_not_found"
    refused = await admin.ask("PUT", where, {"template": "other"})
    assert refused.code == "invalid_request"

    made = await admin.ask("PUT", where, {"template": "brief"})
    while made.json["status"] == "starting":
        made = await admin.ask("PUT", where, {})
    assert (made.status, made.json["status"]) == (200, "running"), made.raw
    assert made.json["auto_stop_at"] is not None
    assert "address" not in made.json, "where agents listen is the server's business"
    assert (await admin.ask("PUT", where, {})).json == made.json
    found = await admin.get(where)
    assert (found.json, found.headers["etag"]) == (made.json, made.headers["etag"])

    stopped = await admin.post(f"{where}/stop")
    assert (stopped.status, stopped.json["status"]) == (200, "stopped")
    assert running_in(folder) == []
    started = await admin.post(f"{where}/start")
    while started.json["status"] == "starting":  # an answer waits only for some seconds
        started = await admin.post(f"{where}/start")
    assert started.json["status"] == "running"
    stale = await admin.ask("DELETE", where, if_match=made.headers["etag"])
    assert (stale.status, stale.code) == (412, "precondition_failed")
    assert stale.headers["etag"] == started.headers["etag"]
    gone = await admin.ask("DELETE", where, if_match=started.headers["etag"])
    assert (gone.status, gone.json["status"]) == (200, "deleted")
    assert (running_in(folder), list((folder / "w").iterdir())) == ([], [])


async def test_an_archived_chat_starts_nothing(yard: Cell) -> None:
    chat = f"chats/{await yard.admin.new_chat()}"
    await yard.admin.post(f"{chat}/archive")
    refused = await yard.admin.ask("PUT", f"{chat}/workspace", {})
    assert refused.code == "chat_state_conflict"
    assert "Unarchive" in refused.json["detail"]


async def test_whoever_reads_a_chat_sees_its_workspace_and_changes_nothing(yard: Cell) -> None:
    admin, bob = yard.admin, await yard.member("Bob")
    bobs_id = (await bob.get("me")).json["user"]["id"]
    chat = f"chats/{await admin.new_chat()}"
    made = await admin.ask("PUT", f"{chat}/workspace", {})
    changes: list[tuple[str, str, Any]] = [
        ("PUT", "workspace", {}),
        ("POST", "workspace/start", None),
        ("POST", "workspace/stop", None),
        ("DELETE", "workspace", None),
    ]
    assert (await bob.get(f"{chat}/workspace")).code == "chat_not_found"
    await admin.ask("PUT", f"{chat}/shares/{bobs_id}")
    assert (await bob.get(f"{chat}/workspace")).json == made.json
    for method, path, body in changes:
        assert (await bob.ask(method, f"{chat}/{path}", body)).code == "chat_not_found"
    assert (await admin.get(f"{chat}/workspace")).json == made.json


async def test_a_server_without_templates_says_so(cell: Cell) -> None:
    assert (await cell.admin.get("workspace-templates")).json["data"] == []
    chat = f"chats/{await cell.admin.new_chat()}"
    refused = await cell.admin.ask("PUT", f"{chat}/workspace", {})
    assert refused.code == "workspace_unusable"
    assert "HOLDFAST_TEMPLATES" in refused.json["detail"]
    assert (await cell.admin.get(f"{chat}/workspace")).code == "workspace_not_found"


async def test_the_sdk_knows_workspaces(yard: Cell) -> None:
    key = yard.admin.headers["authorization"].removeprefix("Bearer ")
    async with AsyncClient(yard.admin.url, api_key=key) as client:
        assert [each.name for each in await client.workspace_templates.list()] == ["local", "brief"]
        chat = await client.chats.create()
        assert await chat.workspace.retrieve() is None
        with pytest.raises(NotFoundError, match="create_workspace"):
            await chat.workspace.start()
        made = await chat.workspace.create(ttl_seconds=60)
        while made.status == "starting":
            made = await chat.workspace.start()
        assert (made.status, made.template, made.ttl_seconds) == ("running", "local", 60)
        assert (await chat.workspace.stop()).status == "stopped"
        while (started := await chat.workspace.start()).status == "starting":
            pass
        assert started.status == "running"
        assert (await chat.workspace.delete()).status == "deleted"
        assert await chat.workspace.retrieve() is None
