"""`holdfast secrets`: what an operator reads, and the documented exit codes."""

import asyncio
import base64
from pathlib import Path
from uuid import UUID

import orjson
import pytest
from typer.testing import CliRunner, Result

from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.cli.app import app
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user, temporary_database
from tests.support.secrets import NEW, OLD, store_secret, vault_on

ROW = UUID(int=10)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["secrets", *arguments])


async def test_rotate_and_check(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_file = tmp_path / "master.key"

    def have(*keys: bytes) -> None:
        key_file.write_text("\n".join(base64.b64encode(key).decode() for key in keys))

    async with temporary_database(template) as url:
        monkeypatch.setenv("HOLDFAST_DATABASE_URL", url)
        refused = await asyncio.to_thread(run, "rotate")
        assert refused.exit_code == 2
        assert "HOLDFAST_MASTER_KEY_FILE" in refused.output
        monkeypatch.setenv("HOLDFAST_MASTER_KEY_FILE", str(key_file))
        async with open_pool(url, PoolOptions()) as pool:
            await add_user(pool, ORG, OWNER)
            vault = await vault_on(pool, OLD)
            await vault.start()
            await store_secret(pool, vault, ROW, "the secret")
            have(OLD.secret)
            assert (await asyncio.to_thread(run, "check")).exit_code == 0
            have(NEW.secret)
            other = await asyncio.to_thread(run, "check")
            assert (other.exit_code, "another master key" in other.output) == (2, True)
            have(NEW.secret, OLD.secret)
            done = await asyncio.to_thread(run, "rotate", "--json")
            assert done.exit_code == 0
            assert orjson.loads(done.stdout) == {
                "data_keys_added": 1,
                "data_keys_rewrapped": 1,
                "data_keys_removed": 1,
                "secrets_sealed": 1,
                "secrets_unreadable": 0,
            }
            await pool.execute("update master_keys set is_current = false")
            await pool.execute("insert into master_keys values ($1, true)", OLD.id)
            assert (await asyncio.to_thread(run, "check")).exit_code == 3
            await pool.execute(
                "update providers set credential = set_byte(credential, 40,"
                " 255 - get_byte(credential, 40))"
            )
            broken = await asyncio.to_thread(run, "check")
            assert (broken.exit_code, "secrets unreadable   1" in broken.output) == (1, True)
