"""The operator's verbs on a real database."""

import asyncio
from collections.abc import Generator

import asyncpg
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
    assert "up to date" in cli.invoke(app, ["migrate"]).output
    healthy = cli.invoke(app, ["verify"])
    assert (healthy.exit_code, healthy.output) == (0, "0 violations.\n")
    undone = cli.invoke(app, ["migrate", "--down", str(MIGRATIONS)])
    assert (undone.exit_code, undone.output) == (0, f"Undone: {MIGRATIONS}.\n")
    assert cli.invoke(app, ["verify"]).exit_code == 1, "there are no tables to verify"


def test_verify_names_what_is_broken(url: str) -> None:
    cli = CliRunner()
    cli.invoke(app, ["migrate"])
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
    broken = cli.invoke(app, ["verify"])
    assert broken.exit_code == 1
    assert "S3: last_seq is not the last message" in broken.output


def test_the_version_is_told() -> None:
    assert CliRunner().invoke(app, ["--version"]).output.startswith("holdfast ")
    assert "migrate" in CliRunner().invoke(app, []).output
