"""Sign-ins, API keys and throttles in PostgreSQL, all on its clock."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from holdfast.adapters.postgres.audit import audit_parameters, audited, audited_if
from holdfast.adapters.postgres.codec import escape, unescape
from holdfast.adapters.postgres.policy import actor_parameters, filtered
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.receipts import find_receipt, receipt_parameters
from holdfast.adapters.postgres.rows import RowLike
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.adapters.postgres.users import user_from_row
from holdfast.domain.accounts import ApiKey, SignIn
from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import ApiKeyId, ClientKey, OrgId, SignInId, UserId
from holdfast.domain.policy import (
    EVERY_SCOPE,
    Credential,
    Filter,
    OrgRole,
    Principal,
    Scope,
    TargetKind,
)
from holdfast.ports.identity import (
    AccountReceipt,
    Attempt,
    Candidate,
    NewKey,
    NewSignIn,
    ThrottleKeys,
)
from holdfast.ports.store import IdempotencyKey

COUNT_ATTEMPT: Final = load_query("count_attempt")
BY_TOKEN: Final = load_query("by_token")
BY_KEY: Final = load_query("by_key")
VALID: Final = load_query("valid_credentials")
FORGET_EXPIRED: Final = load_query("forget_expired")


class PostgresCredentials:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def attempt(
        self, email: str, org_id: OrgId | None, keys: ThrottleKeys, window: timedelta
    ) -> Attempt:
        rows = await fetch_rows(
            self._pool,
            COUNT_ATTEMPT,
            keys=[keys.account, keys.network],
            account_key=keys.account,
            network_key=keys.network,
            browser_key=keys.browser,
            browser_hash=keys.browser_hash,
            time_window=window,
            email=escape(email),
            org_id=org_id,
        )
        known: bool = rows[0]["known"]
        return Attempt(
            by_account=rows[0]["by_account"],
            by_network=rows[0]["by_network"],
            by_browser=rows[0]["by_browser"],
            known=known,
            keys=(keys.browser,) if known else (keys.account, keys.network),
            retry_after_s=max(rows[0]["retry_after_s"], 0.0),
            candidates=tuple(
                Candidate(user_from_row(row), row["password_hash"])
                for row in rows
                if row["id"] is not None
            ),
        )

    async def open_sign_in(self, sign_in: NewSignIn, audit: AuditEntry) -> bool:
        row = await fetch_row(
            self._pool,
            audited("open_sign_in_begin"),
            sign_in_id=sign_in.sign_in_id,
            user_id=sign_in.user_id,
            token_hash=sign_in.token_hash,
            method=sign_in.method,
            lifetime=sign_in.lifetime,
            address=None if sign_in.address is None else escape(sign_in.address),
            agent=None if sign_in.agent is None else escape(sign_in.agent),
            verified_hash=sign_in.verified_hash,
            rehashed=sign_in.rehashed,
            replaces=sign_in.replaces,
            throttle_keys=sign_in.throttle_keys,
            first_key=sign_in.throttle_keys[0] if sign_in.throttle_keys else None,
            browser_hash=sign_in.browser_hash,
            browser_lifetime=sign_in.browser_lifetime,
            replaces_browser=sign_in.replaces_browser,
            **audit_parameters(audit),
        )
        return row is not None

    async def by_token(self, token_hash: bytes, *, idle: timedelta) -> Principal | None:
        row = await fetch_row(self._pool, BY_TOKEN, token_hash=token_hash, idle=idle)
        return None if row is None else _principal("session", row)

    async def by_key(self, secret_hash: bytes) -> Principal | None:
        row = await fetch_row(self._pool, BY_KEY, secret_hash=secret_hash)
        return None if row is None else _principal("api_key", row)

    async def valid(
        self, credentials: Sequence[Credential], *, idle: timedelta
    ) -> Sequence[Principal]:
        rows = await fetch_rows(
            self._pool,
            VALID,
            sign_in_ids=[each.id for each in credentials if each.kind == "session"],
            key_ids=[each.id for each in credentials if each.kind == "api_key"],
            idle=idle,
        )
        return [_principal(row["kind"], row) for row in rows]

    async def sign_ins(
        self,
        may: Filter,
        user_id: UserId | None,
        *,
        limit: int,
        after: tuple[datetime, UUID] | None = None,
    ) -> Sequence[SignIn]:
        after_at, after_id = after or (None, None)
        of_user = () if user_id is None else ("sign_ins_of_user_end",)
        rows = await fetch_rows(
            self._pool,
            filtered(TargetKind.SIGN_IN, may[1], "sign_ins_begin", *of_user, "sign_ins_end"),
            **actor_parameters(may),
            **({} if user_id is None else {"user_id": user_id}),
            after_at=after_at,
            after_id=after_id,
            limit=limit,
        )
        return [_sign_in(row) for row in rows]

    async def revoke_sign_in(
        self, may: Filter, sign_in_id: SignInId, audit: AuditEntry
    ) -> SignInId | None:
        row = await fetch_row(
            self._pool,
            audited_if(TargetKind.SIGN_IN, may[1], "revoke_sign_in_begin", "revoke_sign_in_end"),
            **actor_parameters(may),
            **audit_parameters(audit),
            sign_in_id=sign_in_id,
        )
        return None if row is None else SignInId(row["id"])

    async def create_key(
        self, key: NewKey, audit: AuditEntry, keyed: IdempotencyKey | None = None
    ) -> ApiKey | None:
        row = await fetch_row(
            self._pool,
            audited("create_key_begin"),
            key_id=key.key_id,
            org_id=key.org_id,
            user_id=key.user_id,
            name=escape(key.name),
            prefix=key.prefix,
            secret_hash=key.secret_hash,
            scopes=sorted(scope.value for scope in key.scopes),
            expires_at=key.expires_at,
            **receipt_parameters(keyed),
            **audit_parameters(audit),
        )
        return None if row is None else _api_key(row)

    async def receipt(self, actor_id: UserId, key: ClientKey) -> AccountReceipt | None:
        return await find_receipt(self._pool, actor_id, key)

    async def keys(
        self,
        may: Filter,
        user_id: UserId | None,
        *,
        limit: int,
        after: tuple[datetime, UUID] | None = None,
    ) -> Sequence[ApiKey]:
        after_at, after_id = after or (None, None)
        rows = await fetch_rows(
            self._pool,
            filtered(TargetKind.API_KEY, may[1], "api_keys_begin", "api_keys_end"),
            **actor_parameters(may),
            user_id=user_id,
            after_at=after_at,
            after_id=after_id,
            limit=limit,
        )
        return [_api_key(row) for row in rows]

    async def revoke_key(self, may: Filter, key_id: ApiKeyId, audit: AuditEntry) -> ApiKeyId | None:
        row = await fetch_row(
            self._pool,
            audited_if(TargetKind.API_KEY, may[1], "revoke_key_begin", "revoke_key_end"),
            **actor_parameters(may),
            **audit_parameters(audit),
            key_id=key_id,
        )
        return None if row is None else ApiKeyId(row["id"])

    async def forget_expired(self, *, window: timedelta, limit: int = 1_000) -> int:
        row = await fetch_row(self._pool, FORGET_EXPIRED, time_window=window, limit=limit)
        assert row is not None, "a count is always given"
        return row["gone"]


def _principal(kind: str, row: RowLike) -> Principal:
    is_key = kind == "api_key"
    credential = (
        Credential("api_key", ApiKeyId(row["id"]))
        if is_key
        else Credential("session", SignInId(row["id"]))
    )
    return Principal(
        org_id=OrgId(row["org_id"]),
        user_id=UserId(row["user_id"]),
        role=OrgRole(row["role"]),
        scopes=frozenset(Scope(scope) for scope in row["scopes"]) if is_key else EVERY_SCOPE,
        credential=credential,
    )


def _sign_in(row: RowLike) -> SignIn:
    return SignIn(
        sign_in_id=SignInId(row["id"]),
        user_id=UserId(row["user_id"]),
        method=row["method"],
        address=row["address"],
        agent=None if row["agent"] is None else unescape(row["agent"]),
        created_at=row["created_at"],
        seen_at=row["seen_at"],
        expires_at=row["expires_at"],
    )


def _api_key(row: RowLike) -> ApiKey:
    return ApiKey(
        key_id=ApiKeyId(row["id"]),
        org_id=OrgId(row["org_id"]),
        user_id=UserId(row["user_id"]),
        name=unescape(row["name"]),
        prefix=row["prefix"],
        scopes=frozenset(Scope(scope) for scope in row["scopes"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
    )
