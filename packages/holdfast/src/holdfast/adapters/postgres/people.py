"""The users of an organisation as admins see them, in PostgreSQL."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from holdfast.adapters.postgres.audit import audit_parameters, audited, audited_if
from holdfast.adapters.postgres.codec import escape, unescape
from holdfast.adapters.postgres.policy import actor_parameters, filtered
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.rows import RowLike
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.adapters.postgres.users import user_from_row
from holdfast.domain.accounts import User
from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId, SignInId, UserId
from holdfast.domain.policy import Filter, TargetKind
from holdfast.ports.people import Person, SeenWorker, ServerLoad

WORKERS_MAX: Final = 200
NAMES: Final = load_query("names_of_users")
USER_OF_LINK: Final = load_query("user_of_account_link")
STOPPING: Final = load_query("users_stopping")
CHATS: Final = load_query("overview_chats")
WORKERS: Final = load_query("overview_workers")


class PostgresPeople:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def page(
        self,
        may: Filter,
        *,
        limit: int,
        after: tuple[str, UserId] | None = None,
        words: Sequence[str] = (),
    ) -> Sequence[Person]:
        name, user_id = after or (None, None)
        rows = await fetch_rows(
            self._pool,
            filtered(TargetKind.USER, may[1], "page_of_people_begin", "page_of_people_end"),
            **actor_parameters(may),
            after_name=None if name is None else escape(name),
            after_id=user_id,
            words=[escape(word) for word in words],
            limit=limit,
        )
        return [_person(row) for row in rows]

    async def names(self, org_id: OrgId, user_ids: Collection[UUID]) -> Mapping[UUID, str]:
        if not user_ids:
            return {}
        rows = await fetch_rows(self._pool, NAMES, org_id=org_id, user_ids=list(user_ids))
        return {row["id"]: unescape(row["name"]) for row in rows}

    async def create_link(
        self,
        may: Filter,
        user_id: UserId,
        token_hash: bytes,
        lifetime: timedelta,
        audit: AuditEntry,
    ) -> datetime | None:
        begin, end = "create_account_link_begin", "create_account_link_end"
        row = await fetch_row(
            self._pool,
            audited_if(TargetKind.USER, may[1], begin, end),
            **actor_parameters(may),
            **audit_parameters(audit),
            user_id=user_id,
            token_hash=token_hash,
            lifetime=lifetime,
        )
        return None if row is None else row["expires_at"]

    async def user_of_link(self, token_hash: bytes) -> User | None:
        row = await fetch_row(self._pool, USER_OF_LINK, token_hash=token_hash)
        return None if row is None else user_from_row(row)

    async def use_link(
        self, token_hash: bytes, password_hash: str, audit: AuditEntry
    ) -> User | None:
        row = await fetch_row(
            self._pool,
            audited("use_account_link_begin"),
            token_hash=token_hash,
            password_hash=password_hash,
            **audit_parameters(audit),
        )
        return None if row is None else user_from_row(row)

    async def end_sessions(
        self, may: Filter, user_id: UserId, audit: AuditEntry, *, keep: SignInId | None
    ) -> int:
        row = await fetch_row(
            self._pool,
            audited_if(TargetKind.USER, may[1], "end_sessions_begin", "end_sessions_end"),
            **actor_parameters(may),
            **audit_parameters(audit),
            user_id=user_id,
            keep=keep,
        )
        return 0 if row is None else row["ended"]

    async def stopping(self) -> Mapping[UserId, datetime]:
        rows = await fetch_rows(self._pool, STOPPING)
        return {UserId(row["id"]): row["stopping_since"] for row in rows}

    async def load(self, org_id: OrgId) -> ServerLoad:
        row = await fetch_row(self._pool, CHATS, org_id=org_id)
        assert row is not None, "counts are always there"
        workers = await fetch_rows(self._pool, WORKERS, limit=WORKERS_MAX)
        return ServerLoad(
            driven=row["driven"],
            waiting=row["waiting"],
            oldest_s=row["oldest_s"],
            awaiting=row["awaiting"],
            users=row["users"],
            workers=[
                SeenWorker(each["name"], each["started_at"], each["is_alive"], each["chats"])
                for each in workers
            ],
        )


def _person(row: RowLike) -> Person:
    return Person(
        user=user_from_row(row),
        seen_at=row["last_seen_at"],
        sessions=row["sessions"],
        api_keys=row["api_keys"],
        link_expires_at=row["link_expires_at"],
    )
