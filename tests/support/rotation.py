"""`holdfast secrets rotate`, killed again and again: whether every secret stays readable."""

import asyncio
import base64
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import orjson

from holdfast.adapters.postgres.pool import Pool, PoolOptions, open_pool
from holdfast.admin.secrets.sealing import MasterKey
from holdfast.admin.secrets.vault import Vault
from holdfast.domain.errors import SecretUnreadable
from holdfast.domain.secrets import PROVIDER_CREDENTIAL
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user, temporary_database
from tests.support.secrets import NEW, OLD, vault_on

RUN_S_MAX: Final = 120
KILLED_FROM: Final = 0.4
"""Share of a whole run: the command takes about as long to begin."""


@dataclass
class Rotated:
    rows: int
    kills: int = 0
    kills_between_rows: int = 0
    """Kills that left some rows under the old data key and some under the new one."""
    runs: int = 0
    """Rotations that came to their end."""
    unreadable: int = 0
    """Rows that could not be read, or said something else, after a kill or a run: all together."""


async def rotated_under_kills(
    template: str, folder: Path, chance: random.Random, *, rows: int, kills: int
) -> Rotated:
    found, key_file = Rotated(rows), folder / "master.key"
    async with temporary_database(template) as url, open_pool(url, PoolOptions()) as pool:
        stored = {UUID(int=1_000 + n): f"secret {n}" for n in range(rows)}
        await _store(pool, stored)
        masters, usual_s = [OLD, NEW], None
        while found.kills < kills:
            _write(key_file, masters)
            within_s = RUN_S_MAX if usual_s is None else chance.uniform(KILLED_FROM, 1.0) * usual_s
            began_s = time.monotonic()
            if await asyncio.to_thread(_finished, url, key_file, within_s):
                usual_s = time.monotonic() - began_s
                found.runs += 1
                masters.reverse()  # the next rotation goes the other way
            else:
                found.kills += 1
                used = "select count(distinct credential_key_id) from providers"
                found.kills_between_rows += await pool.fetchval(used) > 1
            reader = await vault_on(pool, *masters)
            await reader.start()
            found.unreadable += await _unreadable(pool, reader, stored)
    return found


async def _store(pool: Pool, stored: Mapping[UUID, str]) -> None:
    await add_user(pool, ORG, OWNER)
    vault = await vault_on(pool, OLD)
    await vault.start()
    blobs = {
        row: await vault.seal(PROVIDER_CREDENTIAL.place(ORG, row), plain)
        for row, plain in stored.items()
    }
    await pool.executemany(
        "insert into providers (id, org_id, name, record, credential, credential_key_id,"
        " credential_about) values ($1, $2, $3, '{}', $4, $5, '{}')",
        [(row, ORG, str(row), blob, UUID(bytes=blob[1:17])) for row, blob in blobs.items()],
    )


def _write(key_file: Path, masters: list[MasterKey]) -> None:
    """The last one becomes the first of the file: what is rotated to."""
    lines = [base64.b64encode(each.secret).decode() for each in reversed(masters)]
    key_file.touch(mode=0o600)
    key_file.write_text("\n".join(lines))


def _finished(url: str, key_file: Path, within_s: float) -> bool:
    """Whether the command came to its end; otherwise it was killed."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOLDFAST_DATABASE_URL": url,
        "HOLDFAST_MASTER_KEY_FILE": str(key_file),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "secrets", "rotate", "--json"],
        env=environment,
        stdout=subprocess.PIPE,
    )
    try:
        out, _ = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False
    assert process.returncode == 0
    assert orjson.loads(out)["secrets_unreadable"] == 0
    return True


async def _unreadable(pool: Pool, vault: Vault, stored: Mapping[UUID, str]) -> int:
    wrong = 0
    rows = await pool.fetch("select id, credential::bytea as blob from providers")
    assert len(rows) == len(stored)
    for row in rows:
        place = PROVIDER_CREDENTIAL.place(ORG, row["id"])
        try:
            wrong += await vault.open(place, bytes(row["blob"])) != stored[row["id"]]
        except SecretUnreadable:
            wrong += 1
    return wrong
