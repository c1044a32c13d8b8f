"""`holdfast workspace` and `holdfast workspace-templates`, as somebody types them."""

import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import orjson
import pytest

from holdfast_lab.chaos.harness.folders import running_in, short_folder
from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.replica import Replicas
from tests.support.terminal import Cli, golden, masked
from tests.support.web import OUR_ORIGIN, a_cell

TEMPLATES = [
    {
        "kind": "local",
        "name": "local",
        "description": "A folder here.",
        "sandbox": "external",
        "start_s": 120,
    },
    {"kind": "local", "name": "brief", "description": "The same, for an hour.", "ttl_s": 3600},
]


@pytest.fixture
async def cli(template: str, tmp_path: Path) -> AsyncGenerator[Cli]:
    with short_folder() as folder:
        try:
            async with (
                temporary_database(template) as url,
                running(Config()) as simulator,
                a_cell(
                    Replicas(url, simulator),
                    origins=OUR_ORIGIN,
                    templates=TEMPLATES,
                    workspaces_folder=folder,
                    within_s=300,
                ) as cell,
            ):
                key = cell.admin.headers["authorization"].split()[1]
                yield Cli(tmp_path, cell.admin.url, key)
        finally:
            for pid in running_in(folder):
                os.kill(pid, signal.SIGKILL)


async def test_a_workspace_by_hand(cli: Cli) -> None:
    golden("templates-list", await cli.told("workspace-templates", "list"))
    chat_id = (await cli.told("run", "--detach", "hello")).split()[-1]
    none = await cli.call("workspace", "get", chat_id)
    assert (none.code, none.out, none.err) == (0, "", "The chat has no workspace.\n")
    missing = await cli.call("workspace", "start", chat_id)
    assert missing.code != 0
    assert "Create one" in missing.err

    golden("workspace-create", masked(await cli.told("workspace", "create", chat_id)))
    assert (await cli.told("workspace", "stop", chat_id)).startswith("stopped ")
    assert (await cli.told("workspace", "start", chat_id)).startswith("running ")
    shown = orjson.loads(await cli.told("workspace", "get", chat_id, "--json"))
    assert (shown["status"], shown["template"]) == ("running", "local")
    assert (await cli.told("workspace", "delete", chat_id)).startswith("deleted ")
    assert await cli.told("workspace", "get", chat_id, "--json") == "null"
