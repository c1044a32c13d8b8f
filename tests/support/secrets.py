"""Vaults on a database, rows to seal, and runs that are killed."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.clock import DatabaseClock
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.secrets import PostgresSecrets
from holdfast.admin.secrets.sealing import MasterKey, MasterKeys
from holdfast.admin.secrets.vault import Vault
from holdfast.domain.ids import OrgId
from holdfast.domain.secrets import PROVIDER_CREDENTIAL
from holdfast.ports.secrets import SecretStore
from tests.support.builders import ORG

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
