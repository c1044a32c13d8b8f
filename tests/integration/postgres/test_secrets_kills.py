"""10,000 secrets, and `holdfast secrets rotate` killed 50 times: every secret stays readable."""

import base64
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Final
from uuid import UUID

import orjson
import pytest

from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.domain.secrets import PROVIDER_CREDENTIAL
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user, temporary_database
from tests.support.secrets import NEW, OLD, secrets_in, vault_on
from tests.support.tiers import set_seed

ROWS: Final = 10_000
KILLS: Final = 50
RUN_S_MAX: Final = 120


@pytest.mark.nightly
async def test_no_secret_is_lost_under_fifty_kills(template: str, tmp_path: Path) -> None:
    chance = random.Random(set_seed())
    key_file = tmp_path / "master.key"
    async with temporary_database(template) as url, open_pool(url, PoolOptions()) as pool:
        await add_user(pool, ORG, OWNER)
        vault = await vault_on(pool, OLD)
        await vault.start()
        stored = {UUID(int=1_000 + n): f"secret {n}" for n in range(ROWS)}
        blobs = {
            row: await vault.seal(PROVIDER_CREDENTIAL.place(ORG, row), plain)
            for row, plain in stored.items()
        }
        await pool.executemany(
            "insert into providers (id, org_id, name, record, credential, credential_key_id,"
            " credential_about) values ($1, $2, $3, '{}', $4, $5, '{}')",
            [(row, ORG, str(row), blob, UUID(bytes=blob[1:17])) for row, blob in blobs.items()],
        )
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOLDFAST_DATABASE_URL": url,
            "HOLDFAST_MASTER_KEY_FILE": str(key_file),
        }
        masters = [OLD, NEW]
        kills, finished, usual_s = 0, 0, None
        while kills < KILLS:
            lines = [base64.b64encode(each.secret).decode() for each in reversed(masters)]
            key_file.write_text("\n".join(lines))
            began_s = time.monotonic()
            process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs on this loop
                [sys.executable, "-m", "holdfast", "secrets", "rotate", "--json"],
                env=environment,
                stdout=subprocess.PIPE,
            )
            try:
                out, _ = process.communicate(
                    timeout=RUN_S_MAX if usual_s is None else chance.uniform(0.4, 1.0) * usual_s
                )
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
            else:
                assert process.returncode == 0
                assert orjson.loads(out)["secrets_unreadable"] == 0
                usual_s = time.monotonic() - began_s
                finished += 1
                masters.reverse()  # the next rotation goes the other way
            reader = await vault_on(pool, *masters)
            await reader.start()
            assert {row: plain async for row, plain in secrets_in(pool, reader)} == stored
        print(f"{ROWS} rows, {kills} kills, {finished} finished rotations")
