"""Every command of the tutorial and of the operators' pages, run in order."""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import orjson
import pytest
import typer

from holdfast.cli.app import app
from holdfast_lab.chaos.harness.folders import running_in, short_folder
from holdfast_lab.chaos.harness.ports import quiet_port
from holdfast_simulator.server import Config, running
from tests.docs import pages
from tests.requirements import requirement
from tests.support.database import SERVER_URL, database_url, on_server, temporary_database

LONG = pytest.mark.timeout(pages.PAGE_S + 60)


@pytest.fixture
def folder() -> Generator[Path]:
    with short_folder() as made:
        yield made


def ports() -> dict[str, str]:
    return {"8080": str(quiet_port()), "8081": str(quiet_port())}


@LONG
async def test_the_first_five_minutes(folder: Path) -> None:
    instead = ports()
    ran = await pages.run(
        ["tutorial/first-five-minutes.md"],
        folder,
        {**instead, "holdfast dev": 'holdfast dev --data "$DATA"'},
        DATA=str(folder / "data"),
        HOLDFAST_PORT=instead["8080"],
    )
    assert ran.code == 0, ran.said
    assert "The tool answered: 20" in ran.said
    assert '"data":[{' in ran.said, "curl lists them"
    assert running_in(folder) == []


KILLED = """until ls "$WORK"/workspaces/*/files/steps; do sleep 0.1; done
kill -9 "${servers[0]}"
holdfast dev --data "$DATA" >"$WORK/again" 2>&1 &
servers+=($!)
until_ready "$WORK/again" $!
holdfast attach @last
"""
"""What the page tells to do by hand, for whoever runs the server in another terminal."""


@pytest.mark.nightly
@requirement("F16", "F17", "X1", "X2")
@LONG
async def test_a_coding_task_and_a_server_killed_while_its_command_runs(folder: Path) -> None:
    instead = ports()
    ran = await pages.run(
        ["tutorial/a-coding-task.md"],
        folder,
        {
            **instead,
            "holdfast dev": 'holdfast dev --data "$DATA"',
            "holdfast attach @last\n": KILLED,
        },
        DATA=str(folder / "data"),
        HOLDFAST_PORT=instead["8080"],
    )
    assert ran.code == 0, ran.said
    assert "exit code 1 (" in ran.said, "the test failed before"
    assert ran.said.count("+echo $(($1 + $2))") == 2, "in the export, and in the commit"
    assert "Author: Agent" in ran.said
    assert steps_in(folder) == [str(number) for number in range(1, 10)], "each once"
    assert "Counted." in ran.said
    assert "Nothing is left of it." in ran.said
    assert running_in(folder) == []


def steps_in(folder: Path) -> list[str]:
    """What the command left that ran while its server was killed."""
    (steps,) = folder.glob("workspaces/*/files/steps")
    return steps.read_text().split()


@pytest.mark.nightly
@LONG
async def test_configure_a_provider(folder: Path) -> None:
    instead = ports()
    async with temporary_database() as url:
        ran = await pages.run(
            ["how-to/configure-a-provider.md"],
            folder,
            {**instead, "holdfast dev": 'holdfast dev --data "$DATA"'},
            DATA=str(folder / "data"),
            HOLDFAST_PORT=instead["8080"],
            HOLDFAST_DATABASE_URL=url,
        )
    assert ran.code == 0, ran.said
    assert re.findall(r'\{"id":"(\w+)"', ran.said) == ["gpt", "sonnet", "local"]


@pytest.mark.nightly
@LONG
async def test_give_a_team_workspaces_and_write_a_template(folder: Path) -> None:
    rules = pages.ROOT / "deploy" / "workspaces" / "approvals.toml"
    instead = {**ports(), "/etc/holdfast/approvals.toml": str(rules)}
    async with temporary_database() as url:
        ran = await pages.run(
            ["how-to/give-a-team-workspaces.md", "how-to/write-a-template.md"],
            folder,
            {**instead, "holdfast dev": 'holdfast dev --data "$DATA"'},
            DATA=str(folder / "data"),
            HOLDFAST_PORT=instead["8080"],
            HOLDFAST_DATABASE_URL=url,
        )
    assert ran.code == 0, ran.said
    assert "A folder on the server." in ran.said
    assert ran.said.count("running ") >= 2
    assert "deleted " in ran.said
    assert running_in(folder) == []


@pytest.mark.nightly
@LONG
async def test_deploy_scale_out_back_up_restore_and_upgrade(folder: Path) -> None:
    name = f"holdfast_docs_{uuid4().hex[:12]}"
    instead = {
        **ports(),
        "postgresql://127.0.0.1:5432/holdfast": database_url(name),
        "createdb holdfast": f"createdb {name}",
    }
    server = urlsplit(SERVER_URL)
    async with running(Config()) as simulator:
        (folder / "models.json").write_bytes(simulated(simulator.url))
        try:
            ran = await pages.run(
                [
                    "how-to/deploy.md",
                    "how-to/scale-out.md",
                    "how-to/back-up-and-restore.md",
                    "how-to/upgrade.md",
                ],
                folder,
                instead,
                HOLDFAST_PORT=instead["8080"],
                PASSWORD="of the first admin",
                PGHOST=server.hostname or "127.0.0.1",
                PGPORT=str(server.port or 5432),
            )
            assert ran.code == 0, ran.said
            chats = [await numbers(name), await numbers(f"{name}_restored")]
        finally:
            for each in (name, f"{name}_restored"):
                await on_server(f'drop database if exists "{each}" with (force)')
    assert '"email":"you@example.org"' in ran.said, "the key of the first admin is good"
    assert "0 violations." in ran.said
    assert chats[0] == chats[1] == (1, 2), "a chat with a question and an answer, restored"
    assert ran.said.count("The schema is up to date.") == 4


def simulated(url: str) -> bytes:
    model = {"name": "sim", "vendor": "simulator-anthropic", "model": "claude-sonnet-5"}
    return orjson.dumps([{**model, "base_url": url, "api_key": "any"}])


async def numbers(name: str) -> tuple[int, int]:
    connection = await asyncpg.connect(database_url(name))
    try:
        row = await connection.fetchrow(
            "select (select count(*) from chats), (select count(*) from messages)"
        )
        assert row is not None
        return row[0], row[1]
    finally:
        await connection.close()


def test_every_command_of_the_pages_exists() -> None:
    known = cast("Any", typer.main.get_command(app)).commands
    used = {verb for page in pages.PAGES for verb in pages.commands(page)}
    assert {"dev", "run", "attach", "db migrate", "db verify", "serve", "admin init"} <= used
    for verb in used:
        group, *name = verb.split()
        assert group in known, verb
        assert not name or name[0] in getattr(known[group], "commands", name), verb


def test_what_is_not_run_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    left_out = pages.skipped(pages.PAGES)
    with capsys.disabled():
        print("", *(f"not run: {each}" for each in left_out), sep="\n")
    assert len(left_out) == 9
    runnable = sum(len(pages.blocks(page)) for page in pages.PAGES) - len(left_out)
    assert runnable >= 18


def test_a_command_that_fails_fails_its_page() -> None:
    made = pages.script(["how-to/upgrade.md"], {})
    assert made.index("set -euo pipefail") < made.index("holdfast db migrate")


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ("docker compose up", "engine"),
        ("kubectl apply -f x", "cluster"),
        ("holdfast db migrate", None),
    ],
)
def test_only_what_is_named_is_left_out(block: str, why: str | None) -> None:
    found = pages.why_skipped(block)
    assert found is None if why is None else found is not None and why in found
