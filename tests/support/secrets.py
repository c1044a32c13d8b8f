"""Vaults on a database, rows to seal, and runs that are killed."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any
from uuid import UUID

import asyncpg

from holdfast.adapters.postgres.clock import DatabaseClock
from holdfast.adapters.postgres.pool import Pool, PoolOptions, open_pool
from holdfast.adapters.postgres.secrets import PostgresSecrets
from holdfast.admin.secrets.sealing import MasterKey, MasterKeys
from holdfast.admin.secrets.vault import Vault
from holdfast.domain.errors import SecretUnreadable
from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.secrets import PROVIDER_CREDENTIAL
from holdfast.ports.secrets import SecretStore
from tests.support.builders import ORG
from tests.support.database import add_user, temporary_database

OLD, NEW = MasterKey.of(b"o" * 32), MasterKey.of(b"n" * 32)


@dataclass
class Learned:
    secrets: list[str] = field(default_factory=list[str])


async def vault_on(pool: Pool, *masters: MasterKey, learned: Learned | None = None) -> Vault:
    """Not started."""
    store, clock = PostgresSecrets(pool), await DatabaseClock.open(pool)
    keys = MasterKeys(masters) if masters else None
    return Vault(store, clock, keys, (learned or Learned()).secrets.append)


async def store_secret(pool: Pool, vault: Vault, row: UUID, plain: str, org: OrgId = ORG) -> bytes:
    blob = await vault.seal(PROVIDER_CREDENTIAL.place(org, row), plain)
    await pool.execute(
        "insert into providers (id, org_id, name, record, credential, credential_key_id,"
        " credential_about) values ($1, $2, $3, '{}', $4, $5, '{}')",
        *(row, org, str(row), blob, UUID(bytes=blob[1:17])),
    )
    return blob


async def secrets_in(pool: Pool, vault: Vault) -> AsyncGenerator[tuple[UUID, str]]:
    """Every row with its secret. Raises `SecretUnreadable`."""
    for row in await pool.fetch("select id, org_id, credential::bytea as blob from providers"):
        place = PROVIDER_CREDENTIAL.place(OrgId(row["org_id"]), row["id"])
        yield row["id"], await vault.open(place, bytes(row["blob"]))


class Killed(BaseException):
    """The process ends here."""


class KilledStore:
    """A store whose process is killed at one of its calls: before it, or when it was done."""

    def __init__(self, inner: SecretStore, at: int, *, before: bool) -> None:
        self._inner = inner
        self._at = at
        self._before = before
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def call(*given: Any, **more: Any) -> Any:
            self.calls += 1
            if self.calls == self._at and self._before:
                raise Killed
            found = await method(*given, **more)
            if self.calls == self._at:
                raise Killed
            return found

        return call


@dataclass
class Swapped:
    pairs: int = 0
    refused: int = 0
    """Pairs of which neither half could be read in the other's place."""


async def swapped(template: str, *, organisations: int, rows: int) -> Swapped:
    """Exchange any two secrets of a database, and any two data keys, and try to read both."""
    found = Swapped()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(temporary_database(template))
        pool = await stack.enter_async_context(open_pool(url, PoolOptions()))
        connection = await asyncpg.connect(url)
        stack.push_async_callback(connection.close)
        vault = await _anew(pool)
        for place in range(1, organisations + 1):
            org = OrgId(UUID(int=place))
            await add_user(pool, org, UserId(UUID(int=1_000 * place)))
            for row in range(rows):
                await store_secret(pool, vault, UUID(int=1_000 * place + row), f"{row}", org)
        stored = "select id, org_id, credential::bytea as blob from providers order by id"
        for one, other in combinations(await connection.fetch(stored), 2):
            found.pairs += 1
            found.refused += await _refused(connection, await _anew(pool), one, other)
        keys = await connection.fetch("select id, org_id, wrapped from secret_keys order by id")
        for one, other in combinations(keys, 2):
            found.pairs += 1
            found.refused += await _keys_refused(connection, pool, one, other)
    return found


async def _anew(pool: Pool) -> Vault:
    """A process that has unwrapped no data key yet."""
    vault = await vault_on(pool, OLD)
    await vault.start()
    return vault


async def _refused(connection: Any, vault: Vault, one: Any, other: Any) -> bool:
    """In the database, which itself refuses a secret whose key is another organisation's."""
    exchange = connection.transaction()
    await exchange.start()
    pairs = ((one, other), (other, one))
    try:
        for to, of in pairs:
            await connection.execute(
                "update providers set credential = $1, credential_key_id = $2 where id = $3",
                *(of["blob"], UUID(bytes=of["blob"][1:17]), to["id"]),
            )
    except asyncpg.IntegrityConstraintViolationError:
        pass  # and if it did not, they could not be opened there:
    finally:
        await exchange.rollback()
    return not any([await _opens(vault, to, of["blob"]) for to, of in pairs])


async def _keys_refused(connection: Any, pool: Pool, one: Any, other: Any) -> bool:
    put = "update secret_keys set wrapped = $1 where id = $2"
    pairs = ((one, other), (other, one))
    try:
        for to, of in pairs:
            await connection.execute(put, of["wrapped"], to["id"])
        vault = await _anew(pool)
        stored = (
            "select id, org_id, credential::bytea as blob from providers where org_id = any($1)"
        )
        of_both = await connection.fetch(stored, [one["org_id"], other["org_id"]])
        return not any([await _opens(vault, row, row["blob"]) for row in of_both])
    finally:
        for to, _ in pairs:
            await connection.execute(put, to["wrapped"], to["id"])


async def _opens(vault: Vault, row: Any, blob: bytes) -> bool:
    try:
        await vault.open(PROVIDER_CREDENTIAL.place(OrgId(row["org_id"]), row["id"]), bytes(blob))
    except SecretUnreadable:
        return False
    return True
