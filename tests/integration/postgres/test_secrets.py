"""Secrets in a real database: their keys, their rotation under kills, and what is refused."""

import asyncio
from uuid import UUID

import asyncpg
import pytest
from typing_extensions import override

from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.secrets import PostgresSecrets, reseal_of, rows_of
from holdfast.admin.secrets.rotation import ColumnsDiffer, check, rotate
from holdfast.admin.secrets.vault import SEALS_MAX, Vault, WrongMasterKey
from holdfast.domain.errors import SecretsOff, SecretUnreadable
from holdfast.domain.ids import OrgId
from holdfast.domain.secrets import PROVIDER_CREDENTIAL, SECRET_COLUMNS
from tests.requirements import requirement
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user
from tests.support.secrets import (
    NEW,
    OLD,
    Killed,
    KilledStore,
    Learned,
    secrets_in,
    store_secret,
    swapped,
    vault_on,
)

ROW, OTHER = UUID(int=10), UUID(int=11)
PLACE = PROVIDER_CREDENTIAL.place(ORG, ROW)


async def started(pool: Pool, *masters: object) -> Vault:
    vault = await vault_on(pool, *masters)  # pyright: ignore[reportArgumentType]
    await vault.start()
    return vault


async def test_a_secret_is_read_by_another_process(pool: Pool) -> None:
    blob = await store_secret(pool, await started(pool, OLD), ROW, "the secret")
    learned = Learned()
    other = await vault_on(pool, OLD, learned=learned)
    await other.start()
    assert await other.open(PLACE, blob) == "the secret"
    assert learned.secrets == ["the secret"]
    assert b"the secret" not in blob


async def test_swapped_rows_are_refused(pool: Pool) -> None:
    vault = await started(pool, OLD)
    foreign = OrgId(UUID(int=99))
    await add_user(pool, foreign, OWNER)
    first = await store_secret(pool, vault, ROW, "one")
    second = await store_secret(pool, vault, OTHER, "two")
    third = await store_secret(pool, vault, UUID(int=12), "three", foreign)
    places = [
        PLACE,
        PROVIDER_CREDENTIAL.place(ORG, OTHER),
        PROVIDER_CREDENTIAL.place(foreign, UUID(int=12)),
    ]
    blobs = [first, second, third]
    for place in places:
        for blob in blobs:
            if places.index(place) != blobs.index(blob):
                with pytest.raises(SecretUnreadable):
                    await vault.open(place, blob)
    # The key column cannot lie either, nor name a key of another organisation.
    for wrong in (second, third):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await pool.execute(
                "update providers set credential = $1, credential_key_id = $2 where id = $3",
                *(wrong, UUID(bytes=third[1:17]), ROW),
            )


async def test_any_two_of_several_organisations_are_refused(template: str) -> None:
    found = await swapped(template, organisations=2, rows=3)
    assert found.refused == found.pairs == 15 + 1


async def test_a_key_in_use_cannot_be_removed(pool: Pool) -> None:
    vault = await started(pool, OLD)
    await store_secret(pool, vault, ROW, "one")
    for table in ("secret_keys", "master_keys"):
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            await pool.execute(f"delete from {table}")


async def test_a_server_with_another_master_key_does_not_start(pool: Pool) -> None:
    await started(pool, OLD)
    with pytest.raises(WrongMasterKey, match=OLD.id.hex()):
        await started(pool, NEW)
    await started(pool, NEW, OLD)  # and one that has the present one beside its new one does


async def test_of_two_first_servers_one_decides_the_master_key(pool: Pool) -> None:
    found = await asyncio.gather(
        *(started(pool, master) for master in (OLD, NEW) * 4), return_exceptions=True
    )
    started_as = {
        each.masters.first.id for each in found if isinstance(each, Vault) and each.masters
    }
    assert len(started_as) == 1
    assert sum(isinstance(each, WrongMasterKey) for each in found) == 4


async def test_without_a_master_key_nothing_is_stored_and_nothing_is_read(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    blob = await store_secret(pool, await started(pool, OLD), ROW, "one")
    vault = await started(pool)  # as after the restore of a dump elsewhere
    assert not vault.is_on
    assert "no master key is set" in caplog.text
    with pytest.raises(SecretsOff, match="HOLDFAST_MASTER_KEY_FILE"):
        await vault.seal(PLACE, "two")
    with pytest.raises(SecretUnreadable):
        await vault.open(PLACE, blob)
    assert (await check(vault)).unreadable == 1
    with pytest.raises(SecretsOff):
        await rotate(vault)


async def test_concurrent_first_secrets_share_one_data_key(pool: Pool) -> None:
    vaults = [await started(pool, OLD) for _ in range(4)]
    await asyncio.gather(
        *(store_secret(pool, vault, UUID(int=100 + n), "x") for n, vault in enumerate(vaults * 3))
    )
    assert await pool.fetchval("select count(*) from secret_keys") == 1
    assert await pool.fetchval("select sealed from secret_keys") == 12
    added = await pool.fetchval("select count(*) from audit_log where action = 'secret_key.added'")
    assert added == 1


async def test_a_used_up_data_key_is_replaced(pool: Pool) -> None:
    vault = await started(pool, OLD)
    await store_secret(pool, vault, ROW, "one")
    await pool.execute("update secret_keys set sealed = $1", SEALS_MAX)
    await store_secret(pool, vault, OTHER, "two")
    keys = await pool.fetch("select is_current from secret_keys order by created_at")
    assert [key["is_current"] for key in keys] == [False, True]
    assert {plain async for _, plain in secrets_in(pool, vault)} == {"one", "two"}


async def test_the_registry_has_every_sealed_column(pool: Pool) -> None:
    assert set(await PostgresSecrets(pool).sealed_columns()) == set(SECRET_COLUMNS)
    for column in SECRET_COLUMNS:
        assert rows_of(column)
        assert reseal_of(column)


async def test_rotation_refuses_a_column_that_it_does_not_know(pool: Pool) -> None:
    vault = await started(pool, OLD)
    with pytest.raises(ColumnsDiffer, match=r"providers\.credential"):
        await rotate(vault, columns=())


async def test_rotation_seals_everything_anew_under_the_new_master_key(pool: Pool) -> None:
    vault = await started(pool, OLD)
    before = {row: await store_secret(pool, vault, row, f"s {row}") for row in map(_row, range(25))}
    new = await started(pool, NEW, OLD)
    report = await rotate(new, batch=10)
    assert (report.resealed, report.unreadable) == (25, 0)
    assert (report.keys_added, report.keys_rewrapped, report.keys_removed) == (1, 1, 1)
    only_new = await started(pool, NEW)
    found = {row: plain async for row, plain in secrets_in(pool, only_new)}
    assert found == {row: f"s {row}" for row in before}
    assert (await check(only_new)).outdated == 0
    assert await pool.fetchval("select count(*) from master_keys") == 1
    with pytest.raises(WrongMasterKey):
        await started(pool, OLD)


async def test_a_secret_replaced_during_rotation_stays_replaced(pool: Pool) -> None:
    vault = await started(pool, OLD)
    await store_secret(pool, vault, ROW, "old")

    class Late(PostgresSecrets):
        @override
        async def reseal(self, *given: object, **more: object) -> int:
            blob = await vault.seal(PLACE, "new")
            await pool.execute(
                "update providers set credential = $1, credential_key_id = $2",
                *(blob, UUID(bytes=blob[1:17])),
            )
            return await super().reseal(*given, **more)  # pyright: ignore[reportArgumentType]

    rotating = await started(pool, OLD)
    rotating.store = Late(pool)
    assert (await rotate(rotating)).resealed == 0
    assert [plain async for _, plain in secrets_in(pool, vault)] == ["new"]


async def test_an_unreadable_secret_is_counted_and_left(pool: Pool) -> None:
    vault = await started(pool, OLD)
    blob = await store_secret(pool, vault, ROW, "one")
    await store_secret(pool, vault, OTHER, "two")
    changed = blob[:-1] + bytes([blob[-1] ^ 1])
    await pool.execute("update providers set credential = $1 where id = $2", changed, ROW)
    report = await rotate(vault)
    assert (report.resealed, report.unreadable, report.keys_removed) == (1, 1, 0)
    assert (await check(vault)).unreadable == 1


@requirement("A2")
@pytest.mark.parametrize("before", [True, False])
async def test_rotation_killed_at_every_boundary_leaves_every_secret_readable(
    pool: Pool, *, before: bool
) -> None:
    first = await started(pool, OLD)
    stored = {row: f"s {row}" for row in map(_row, range(7))}
    for row, plain in stored.items():
        await store_secret(pool, first, row, plain)
    kills = at = 0
    while True:
        at += 1
        rotating = await started(pool, NEW, OLD)
        rotating.store = KilledStore(PostgresSecrets(pool), at, before=before)  # pyright: ignore[reportAttributeAccessIssue]
        try:
            await rotate(rotating, batch=2)
        except Killed:
            kills += 1
        else:
            break
        reader = await started(pool, OLD, NEW)
        assert {row: plain async for row, plain in secrets_in(pool, reader)} == stored
    assert kills > 10
    only_new = await started(pool, NEW)
    assert {row: plain async for row, plain in secrets_in(pool, only_new)} == stored
    assert (await check(only_new)).outdated == 0
    assert await pool.fetchval("select count(*) from secret_keys") == 1


def _row(number: int) -> UUID:
    return UUID(int=1_000 + number)
