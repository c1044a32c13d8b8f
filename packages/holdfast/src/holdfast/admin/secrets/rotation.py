"""New keys for everything, while servers run.

    switch to the first master key of this process ──▶ wrap every data key anew
    a new data key per organisation ──▶ seal every secret anew, batch by batch
    remove the data keys and master keys that nothing needs any more

There is no state beside the rows: a batch is one statement, and each row names its key. Killed at
any point, every row is readable, and the next run goes on where this one stopped.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from holdfast.admin.secrets.sealing import CannotOpen, MasterKeys, unwrap, wrap
from holdfast.admin.secrets.vault import Vault
from holdfast.domain.audit import AuditAction
from holdfast.domain.errors import HoldfastError, SecretsOff, SecretUnreadable
from holdfast.domain.secrets import SECRET_COLUMNS, Sealed, SecretColumn
from holdfast.ports.secrets import DataKey, ResealedRow, SealedRow

if TYPE_CHECKING:
    from holdfast.domain.ids import OrgId

BATCH: Final = 200
BEGINNING: Final = UUID(int=0)


class ColumnsDiffer(HoldfastError):
    """The database has a sealed column that this version does not know."""


@dataclass(slots=True)
class RotationReport:
    keys_added: int = 0
    keys_rewrapped: int = 0
    keys_removed: int = 0
    resealed: int = 0
    unreadable: int = 0


@dataclass(slots=True)
class CheckReport:
    secrets: int = 0
    unreadable: int = 0
    outdated: int = 0
    """Under a data key or a master key that is not the current one."""
    keys: int = 0


async def rotate(
    vault: Vault, *, columns: Sequence[SecretColumn] = SECRET_COLUMNS, batch: int = BATCH
) -> RotationReport:
    if vault.masters is None:
        raise SecretsOff
    await refuse_unknown_columns(vault, columns)
    report = RotationReport()
    await vault.store.switch_master(vault.masters.first.id)
    await _rewrap(vault, vault.masters, report)
    await _remove_unused(vault, report)
    await _renew(vault, report)
    for column in columns:
        await _reseal(vault, column, report, batch)
    await _remove_unused(vault, report)
    await vault.store.forget_masters()
    return report


async def refuse_unknown_columns(vault: Vault, columns: Sequence[SecretColumn]) -> None:
    there = {(each.table, each.column) for each in await vault.store.sealed_columns()}
    unknown = there - {(each.table, each.column) for each in columns}
    if unknown:
        names = ", ".join(sorted(f"{table}.{column}" for table, column in unknown))
        raise ColumnsDiffer(
            f"The database has secrets that this version does not know ({names}). Run the"
            " command of the newest version that serves this database."
        )


async def check(vault: Vault, *, columns: Sequence[SecretColumn] = SECRET_COLUMNS) -> CheckReport:
    """What can be read. Changes nothing."""
    await refuse_unknown_columns(vault, columns)
    report = CheckReport()
    current = await vault.store.current_master()
    async for key in _keys(vault):
        report.keys += 1
        report.outdated += Sealed.decode(key.wrapped).key_id != current
    for column in columns:
        after = BEGINNING
        while rows := await vault.store.rows(column, after=after, limit=BATCH, outdated=False):
            after = rows[-1].id
            for row in rows:
                report.secrets += 1
                report.outdated += not row.is_current
                report.unreadable += await _plain(vault, column, row) is None
    return report


async def _keys(vault: Vault) -> AsyncGenerator[DataKey]:
    after = BEGINNING
    while keys := await vault.store.keys(after=after, limit=BATCH):
        after = keys[-1].id
        for key in keys:
            yield key


async def _rewrap(vault: Vault, masters: MasterKeys, report: RotationReport) -> None:
    async for key in _keys(vault):
        if Sealed.decode(key.wrapped).key_id == masters.first.id:
            continue
        try:
            plain = unwrap(masters, key.org_id, key.id, key.wrapped)
        except CannotOpen:
            continue  # its secrets are counted as unreadable
        wrapped = wrap(masters.first, key.org_id, key.id, plain)
        report.keys_rewrapped += await vault.store.rewrap(key, wrapped)


async def _renew(vault: Vault, report: RotationReport) -> None:
    """A new data key for each organisation that has no rotation to go on with."""
    current: dict[OrgId, UUID] = {}
    retired: set[OrgId] = set()
    async for key in _keys(vault):
        if key.is_current:
            current[key.org_id] = key.id
        else:
            retired.add(key.org_id)
    for org_id, key_id in current.items():
        if org_id not in retired:
            report.keys_added += await vault.add_key(org_id, replaces=key_id)


async def _reseal(vault: Vault, column: SecretColumn, report: RotationReport, batch: int) -> None:
    after = BEGINNING
    while rows := await vault.store.rows(column, after=after, limit=batch, outdated=True):
        after = rows[-1].id
        resealed: list[ResealedRow] = []
        for org_id in dict.fromkeys(row.org_id for row in rows):
            own = [row for row in rows if row.org_id == org_id]
            key = await vault.key_for(org_id, seals=len(own))
            for row in own:
                plain = await _plain(vault, column, row)
                if plain is None:
                    report.unreadable += 1
                    continue
                place = column.place(org_id, row.id)
                new = await vault.seal_with(key, place, plain)
                resealed.append(ResealedRow(row.id, row.blob, new, key.id))
        report.resealed += await vault.store.reseal(column, resealed)


async def _plain(vault: Vault, column: SecretColumn, row: SealedRow) -> str | None:
    try:
        return await vault.open(column.place(row.org_id, row.id), row.blob)
    except SecretUnreadable:
        return None


async def _remove_unused(vault: Vault, report: RotationReport) -> None:
    async for key in _keys(vault):
        if not key.is_current:
            entry = vault.entry(AuditAction.SECRET_KEY_REMOVED, key.org_id, key.id)
            report.keys_removed += await vault.store.remove_key(key.id, entry)
