"""Workspaces in PostgreSQL: each change is one statement that says which version it was made to."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Final

from holdfast.db.codec import escape, unescape
from holdfast.db.pool import Pool
from holdfast.db.queries import Query, load_query
from holdfast.db.store import fetch_row, fetch_rows
from holdfast.domain.ids import ChatId, OrgId, UserId
from holdfast.domain.workspaces import Workspace, WorkspaceId, WorkspaceStatus
from holdfast.ports.workspaces import TooManyWorkspaces

OF_CHAT: Final = load_query("workspace_of_chat")
FIND: Final = load_query("find_workspace")
ADD: Final = load_query("add_workspace")
CLAIM: Final = load_query("claim_workspace")
RENEW: Final = load_query("renew_workspace")
SETTLE: Final = load_query("settle_workspace")
TOUCH: Final = load_query("touch_workspace")
CLAIM_EXPIRED: Final = load_query("claim_expired_workspaces")
CLAIM_ABANDONED: Final = load_query("claim_abandoned_workspaces")
CLAIM_REMAINS: Final = load_query("claim_remains_of_workspaces")
REMOVED: Final = load_query("removed_workspace")


class PostgresWorkspaces:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def of_chat(self, chat_id: ChatId) -> Workspace | None:
        return await self._one(OF_CHAT, chat_id=chat_id)

    async def find(self, workspace_id: WorkspaceId) -> Workspace | None:
        return await self._one(FIND, workspace_id=workspace_id)

    async def add(self, new: Workspace, *, owned_max: int) -> Workspace | None:
        row = await fetch_row(
            self._pool,
            ADD,
            limit=owned_max,
            workspace_id=new.workspace_id,
            org_id=new.org_id,
            owner_id=new.owner_id,
            chat_id=new.chat_id,
            template=new.template,
            ttl_s=new.ttl_s,
        )
        assert row is not None, "a count is always there"
        if row["id"] is not None:
            return _workspace(row)
        if row["held"] >= owned_max:
            raise TooManyWorkspaces(owned_max)
        return None

    async def claim(
        self, seen: Workspace, status: WorkspaceStatus, *, lapse: timedelta
    ) -> Workspace | None:
        return await self._one(CLAIM, **_key(seen), status=status.value, lapse=lapse)

    async def renew(self, mine: Workspace) -> bool:
        return await fetch_row(self._pool, RENEW, **_key(mine)) is not None

    async def settle(
        self,
        mine: Workspace,
        status: WorkspaceStatus,
        *,
        address: str | None = None,
        stops_in: timedelta | None = None,
        error: str | None = None,
    ) -> Workspace | None:
        return await self._one(
            SETTLE,
            **_key(mine),
            status=status.value,
            address=address,
            stops_in=stops_in,
            error=None if error is None else escape(error),
        )

    async def touch(self, workspace_id: WorkspaceId, *, stops_in: timedelta) -> bool:
        row = await fetch_row(self._pool, TOUCH, workspace_id=workspace_id, stops_in=stops_in)
        return row is not None

    async def claim_expired(self, templates: Collection[str], *, limit: int) -> Sequence[Workspace]:
        return await self._many(CLAIM_EXPIRED, templates=list(templates), limit=limit)

    async def claim_abandoned(
        self, templates: Collection[str], *, lapse: timedelta, limit: int
    ) -> Sequence[Workspace]:
        return await self._many(
            CLAIM_ABANDONED, templates=list(templates), lapse=lapse, limit=limit
        )

    async def claim_remains(
        self, templates: Collection[str], *, lapse: timedelta, limit: int
    ) -> Sequence[Workspace]:
        return await self._many(CLAIM_REMAINS, templates=list(templates), lapse=lapse, limit=limit)

    async def removed(self, workspace_id: WorkspaceId) -> None:
        await fetch_row(self._pool, REMOVED, workspace_id=workspace_id)

    async def _one(self, query: Query, **parameters: object) -> Workspace | None:
        row = await fetch_row(self._pool, query, **parameters)
        return None if row is None else _workspace(row)

    async def _many(self, query: Query, **parameters: object) -> Sequence[Workspace]:
        return [_workspace(row) for row in await fetch_rows(self._pool, query, **parameters)]


def _key(seen: Workspace) -> dict[str, Any]:
    return {"workspace_id": seen.workspace_id, "version": seen.version}


def _workspace(row: Any) -> Workspace:  # noqa: ANN401  (a record of the driver)
    error = row["error"]
    return Workspace(
        workspace_id=WorkspaceId(row["id"]),
        org_id=OrgId(row["org_id"]),
        owner_id=UserId(row["owner_id"]),
        chat_id=ChatId(row["chat_id"]),
        template=row["template"],
        status=WorkspaceStatus(row["status"]),
        version=row["version"],
        address=row["address"],
        ttl_s=row["ttl_s"],
        stops_at=row["stops_at"],
        error=None if error is None else unescape(error),
        created_at=row["created_at"],
        changed_at=row["changed_at"],
    )
