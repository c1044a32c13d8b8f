"""`holdfast admin audit --verify --anchor`: an alteration is named, and the anchor is kept."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner, Result

from holdfast.adapters.postgres.pool import Pool, PoolOptions, open_pool
from holdfast.cli.app import app
from tests.support.database import temporary_database


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, ["admin", *arguments])


async def verified(*arguments: str) -> Result:
    return await run("audit", "--verify", *arguments)


@pytest.fixture
async def pool(template: str, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Pool]:
    """Of a server whose first admin was made on the command line: that is in the log."""
    async with temporary_database(template) as url:
        monkeypatch.setenv("HOLDFAST_DATABASE_URL", url)
        monkeypatch.setenv("HOLDFAST_MODELS", "[]")
        made = await run("init", "--email", "ada@acme.example", "--password", "a long password")
        assert made.exit_code == 0, made.output
        async with open_pool(url, PoolOptions()) as pool:
            yield pool


async def tampered(pool: Pool, *statements: str) -> None:
    """As a user who owns the database."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("alter table audit_log disable trigger all")
        for statement in statements:
            await connection.execute(statement)
        await connection.execute("alter table audit_log enable trigger all")


async def test_an_anchor_is_made_kept_and_follows_the_log(pool: Pool, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor.json"
    first = await verified("--anchor", str(anchor))
    assert first.exit_code == 0, first.output
    assert "intact" in first.stdout
    ((organisation, head),) = orjson.loads(anchor.read_bytes()).items()
    assert organisation.startswith("org_")
    assert head["seq"] == await pool.fetchval("select max(seq) from audit_log")
    again = await verified("--anchor", str(anchor), "--json")
    told = orjson.loads(again.stdout)
    assert told == [
        {"organization_id": organisation, "intact": True, "entries": head["seq"], "what": None}
    ]


async def test_an_altered_entry_is_named_and_the_anchor_stays(pool: Pool, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor.json"
    assert (await verified("--anchor", str(anchor))).exit_code == 0
    kept = anchor.read_bytes()
    await tampered(pool, "update audit_log set entry = entry || ' ' where seq = 1")
    found = await verified("--anchor", str(anchor))
    assert found.exit_code == 1
    assert "entry 1 was altered" in found.stdout
    assert anchor.read_bytes() == kept


async def test_only_an_anchor_shows_that_all_was_written_anew(pool: Pool, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor.json"
    assert (await verified("--anchor", str(anchor))).exit_code == 0
    await tampered(pool, "delete from audit_log", "delete from audit_heads")
    assert (await verified()).exit_code == 0, "an empty log is as it was written"
    found = await verified("--anchor", str(anchor))
    assert found.exit_code == 1
    assert "entry 1 was removed" in found.stdout


async def test_what_is_no_anchor_is_refused(pool: Pool, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor.json"
    for text in ("", "[]", '{"org_1": 1}', '{"chat_0": {"seq": 1, "hash": "00"}}'):
        anchor.write_text(text)
        refused = await verified("--anchor", str(anchor))
        assert refused.exit_code == 1
        assert "is not an anchor" in refused.output, text
        assert anchor.read_text() == text
    assert (await run("audit", "--anchor", str(anchor))).exit_code == 2
