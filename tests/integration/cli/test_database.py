"""The operator's verbs on a real database."""

import asyncio
from collections.abc import Generator

import asyncpg
import orjson
import pytest
from typer.testing import CliRunner

from holdfast.cli.app import app
from tests.support.database import MIGRATIONS, temporary_database


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    with asyncio.Runner() as runner:
        database = temporary_database()
        url = runner.run(database.__aenter__())
        monkeypatch.setenv("HOLDFAST_DATABASE_URL", url)
        yield url
        runner.run(database.__aexit__(None, None, None))


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


def test_migrate_verify_and_back(url: str) -> None:
    cli = CliRunner()
    assert "up to date" in cli.invoke(app, ["db", "migrate"]).output
    healthy = cli.invoke(app, ["db", "verify"])
    assert (healthy.exit_code, healthy.output) == (0, "0 violations.\n")
    undone = cli.invoke(app, ["db", "migrate", "--down", str(MIGRATIONS)])
    assert (undone.exit_code, undone.output) == (0, f"Undone: {MIGRATIONS}.\n")
    assert cli.invoke(app, ["db", "verify"]).exit_code == 1, "there are no tables to verify"


def test_migrate_sets_the_timeouts_of_the_role_and_is_not_bound_by_them(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the direct URL: a pooler of transactions keeps no session lock."""
    monkeypatch.setenv("HOLDFAST_DATABASE_DIRECT_URL", url)
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", "postgresql://127.0.0.1:1/no-pooler")
    cli = CliRunner()
    assert "up to date" in cli.invoke(app, ["db", "migrate", "--role-settings"]).output

    async def timeouts(settings: dict[str, str]) -> list[str]:
        connection = await asyncpg.connect(url, server_settings=settings)
        names = ("lock_timeout", "statement_timeout")
        found = [await connection.fetchval(f"show {name}") for name in names]
        await connection.close()
        return found

    assert asyncio.run(timeouts({})) == ["5s", "15s"]
    name = url.rsplit("/", 1)[1]
    impatient = f'alter role current_user in database "{name}" set statement_timeout = 1'
    asyncio.run(execute(url, impatient))
    undone = cli.invoke(app, ["db", "migrate", "--down", str(MIGRATIONS)])
    assert (undone.exit_code, undone.output) == (0, f"Undone: {MIGRATIONS}.\n")


def test_verify_names_what_is_broken(url: str) -> None:
    cli = CliRunner()
    cli.invoke(app, ["db", "migrate"])
    ids = "'00000000-0000-0000-0000-000000000001'"
    asyncio.run(
        execute(
            url,
            f"""insert into organisations values ({ids}, 'o');
            insert into users values ({ids}, {ids}, 'u');
            insert into chats (id, org_id, owner_id, status, version, history_version,
                queue_version, last_seq, last_queued_id, queue_length, owes_reply, compactable,
                compaction_requested, open_calls, epoch, attempt, attempts_forgiven)
            values ({ids}, {ids}, {ids}, 'idle', 1, 1, 0, 3, 0, 0, false, false, false, '[]',
                0, 0, 0)""",
        )
    )
    as_json = cli.invoke(app, ["db", "verify", "--json"])
    assert as_json.exit_code == 1
    assert orjson.loads(as_json.output)[0]["chat_id"] == "chat_" + ids.strip("'").replace("-", "")
    broken = cli.invoke(app, ["db", "verify"])
    assert broken.exit_code == 1
    assert "S3: last_seq is not the last message" in broken.output


def test_the_version_is_told() -> None:
    assert CliRunner().invoke(app, ["--version"]).output.startswith("holdfast ")
    assert "workspace-agent" in CliRunner().invoke(app, []).output
