"""Logins through an identity provider, as PostgreSQL keeps them."""

from datetime import timedelta
from typing import Final

import asyncpg

from holdfast.db.audit import audit_parameters, audited
from holdfast.db.codec import escape, unescape
from holdfast.db.pool import Pool
from holdfast.db.queries import load_query
from holdfast.db.store import fetch_row
from holdfast.db.users import new_user_parameters, user_from_row
from holdfast.domain.accounts import User
from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId, UserId
from holdfast.ports.identity import NewUser, OidcState

BEGIN: Final = load_query("begin_oidc")
CONSUME: Final = load_query("consume_oidc")
LINKED: Final = load_query("linked_user")
ONLY_ORG: Final = load_query("only_org")


class PostgresOidcLinks:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(
        self, state_hash: bytes, cookie_hash: bytes, state: OidcState, lifetime: timedelta
    ) -> None:
        await fetch_row(
            self._pool,
            BEGIN,
            state_hash=state_hash,
            cookie_hash=cookie_hash,
            link_user_id=state.link_user_id,
            return_to=escape(state.return_to),
            lifetime=lifetime,
        )

    async def consume(self, state_hash: bytes, cookie_hash: bytes) -> OidcState | None:
        row = await fetch_row(self._pool, CONSUME, state_hash=state_hash, cookie_hash=cookie_hash)
        if row is None:
            return None
        link = row["link_user_id"]
        return OidcState(
            link_user_id=None if link is None else UserId(link),
            return_to=unescape(row["return_to"]),
        )

    async def linked(self, issuer: str, subject: str) -> User | None:
        row = await fetch_row(self._pool, LINKED, issuer=issuer, subject=escape(subject))
        return None if row is None else user_from_row(row)

    async def only_org(self) -> OrgId | None:
        row = await fetch_row(self._pool, ONLY_ORG)
        return None if row is None else OrgId(row["id"])

    async def link(
        self, issuer: str, subject: str, user: UserId, org: OrgId, audit: AuditEntry
    ) -> bool:
        row = await fetch_row(
            self._pool,
            audited("link_oidc_begin"),
            issuer=issuer,
            subject=escape(subject),
            user_id=user,
            org_id=org,
            **audit_parameters(audit),
        )
        return row is not None

    async def create_linked(
        self, issuer: str, subject: str, user: NewUser, audit: AuditEntry
    ) -> User | None:
        try:
            row = await fetch_row(
                self._pool,
                audited("create_linked_begin", "create_linked_end"),
                issuer=issuer,
                subject=escape(subject),
                **new_user_parameters(user),
                **audit_parameters(audit),
            )
        except asyncpg.UniqueViolationError:  # linked meanwhile, under another e-mail address
            return None
        return None if row is None else user_from_row(row)
