"""Accounts in PostgreSQL."""

from collections.abc import Collection, Sequence
from typing import Any

from holdfast.adapters.postgres.audit import audit_parameters, audited, audited_if
from holdfast.adapters.postgres.codec import escape, unescape
from holdfast.adapters.postgres.policy import actor_parameters, filtered
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.receipts import find_receipt, receipt_parameters
from holdfast.adapters.postgres.rows import RowLike
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.domain.accounts import ChangedUser, User
from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import ClientKey, OrgId, SignInId, UserId
from holdfast.domain.policy import Filter, OrgRole, TargetKind
from holdfast.ports.identity import AccountReceipt, NewUser
from holdfast.ports.store import IdempotencyKey


class PostgresUsers:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def found(self, org_name: str, user: NewUser, audit: AuditEntry) -> User | None:
        row = await fetch_row(
            self._pool,
            audited("found_org_begin"),
            org_name=escape(org_name),
            **new_user_parameters(user),
            **audit_parameters(audit),
        )
        return None if row is None else user_from_row(row)

    async def create(
        self, user: NewUser, audit: AuditEntry, keyed: IdempotencyKey | None = None
    ) -> User | None:
        row = await fetch_row(
            self._pool,
            audited("create_user_begin"),
            **new_user_parameters(user),
            **receipt_parameters(keyed),
            **audit_parameters(audit),
        )
        return None if row is None else user_from_row(row)

    async def receipt(self, actor_id: UserId, key: ClientKey) -> AccountReceipt | None:
        return await find_receipt(self._pool, actor_id, key)

    async def find(self, may: Filter, user_id: UserId) -> User | None:
        row = await self._row(may, user_id)
        return None if row is None else user_from_row(row)

    async def password_hash(self, may: Filter, user_id: UserId) -> str | None:
        row = await self._row(may, user_id)
        return None if row is None else row["password_hash"]

    async def _row(self, may: Filter, user_id: UserId) -> RowLike | None:
        query = filtered(TargetKind.USER, may[1], "find_user_begin")
        return await fetch_row(self._pool, query, user_id=user_id, **actor_parameters(may))

    async def page(
        self,
        may: Filter,
        *,
        limit: int,
        after: tuple[str, UserId] | None = None,
        words: Sequence[str] = (),
    ) -> Sequence[User]:
        name, user_id = after or (None, None)
        rows = await fetch_rows(
            self._pool,
            filtered(TargetKind.USER, may[1], "page_of_users_begin", "page_of_users_end"),
            **actor_parameters(may),
            after_name=None if name is None else escape(name),
            after_id=user_id,
            words=[escape(word) for word in words],
            limit=limit,
        )
        return [user_from_row(row) for row in rows]

    async def set_password(
        self,
        may: Filter,
        user_id: UserId,
        password_hash: str,
        audit: AuditEntry,
        *,
        revoke_keys: bool,
        keep: SignInId | None = None,
        expected: Collection[int] | None = None,
    ) -> ChangedUser | None:
        return await self._change(
            "set_password_begin",
            "set_password_end",
            may,
            audit,
            user_id=user_id,
            password_hash=password_hash,
            keep=keep,
            revoke_keys=revoke_keys,
            expected=expected,
        )

    async def update(
        self,
        may: Filter,
        user_id: UserId,
        audit: AuditEntry,
        *,
        role: OrgRole | None = None,
        disabled: bool | None = None,
        revoke_keys: bool = True,
        expected: Collection[int] | None = None,
    ) -> ChangedUser | None:
        return await self._change(
            "update_user_begin",
            "changed_user_end",
            may,
            audit,
            user_id=user_id,
            role=None if role is None else role.value,
            disabled=disabled,
            revoke_keys=revoke_keys,
            expected=expected,
        )

    async def _change(
        self,
        begin: str,
        end: str,
        may: Filter,
        audit: AuditEntry,
        *,
        expected: Collection[int] | None,
        **values: object,
    ) -> ChangedUser | None:
        row = await fetch_row(
            self._pool,
            audited_if(TargetKind.USER, may[1], begin, end, "changed_user_columns"),
            **actor_parameters(may),
            **audit_parameters(audit),
            expected=None if expected is None else list(expected),
            **values,
        )
        if row is None:
            return None
        return ChangedUser(**user_values(row), revoked_keys=row["revoked_keys"])


def new_user_parameters(user: NewUser) -> dict[str, Any]:
    return {
        "user_id": user.user_id,
        "org_id": user.org_id,
        "name": escape(user.name),
        "email": escape(user.email),
        "role": user.role.value,
        "password_hash": user.password_hash,
    }


def user_from_row(row: RowLike) -> User:
    return User(**user_values(row))


def user_values(row: RowLike) -> dict[str, Any]:
    return {
        "user_id": UserId(row["id"]),
        "org_id": OrgId(row["org_id"]),
        "name": unescape(row["name"]),
        "email": None if row["email"] is None else unescape(row["email"]),
        "role": OrgRole(row["role"]),
        "disabled_at": row["disabled_at"],
        "has_password": row["has_password"],
        "created_at": row["created_at"],
        "version": row["version"],
    }
