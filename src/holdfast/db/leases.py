"""Leases in PostgreSQL; all arithmetic on its clock: a wrong one here cannot matter (S5)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from holdfast.db.pool import Pool
from holdfast.db.queries import load_query
from holdfast.db.rows import chat_from_row
from holdfast.db.store import fetch_row, fetch_rows
from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId, WorkerId

JOIN: Final = load_query("join_worker")
HEARTBEAT: Final = load_query("heartbeat")
ACQUIRE: Final = load_query("acquire_chats")
RELEASE: Final = load_query("release_chats")
RELEASE_ALL_BUT: Final = load_query("release_all_but")
LEAVE: Final = load_query("leave_worker")
FORGET: Final = load_query("forget_workers")
EXPIRED_AWAITS: Final = load_query("expired_awaits")

OWNERS_VISITED_MIN: Final = 8
OWNERS_VISITED_MAX: Final = 32
"""Owners looked at on either side of the ring's start: what one acquire may cost. Who takes few
chats need not ask many owners; fairness comes from a ring that begins elsewhere each time."""
INTERRUPTS_MAX: Final = 16
"""Interrupts acquired beyond the limit."""


class PostgresLeases:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def join(self, worker_id: WorkerId, *, name: str, ttl: timedelta) -> None:
        await fetch_rows(self._pool, JOIN, worker_id=worker_id, name=name, ttl=ttl)

    async def heartbeat(self, worker_id: WorkerId, *, ttl: timedelta) -> datetime | None:
        row = await fetch_row(self._pool, HEARTBEAT, worker_id=worker_id, ttl=ttl)
        return None if row is None else row["lease_until"]

    async def acquire(self, worker_id: WorkerId, *, limit: int, ring_start: UUID) -> Sequence[Chat]:
        rows = await fetch_rows(
            self._pool,
            ACQUIRE,
            worker_id=worker_id,
            limit=limit,
            ring_start=ring_start,
            owners_max=min(OWNERS_VISITED_MAX, max(OWNERS_VISITED_MIN, limit)),
            interrupts_max=INTERRUPTS_MAX,
        )
        return [chat_from_row(row) for row in rows]

    async def release(self, worker_id: WorkerId, chat_ids: Sequence[ChatId]) -> Sequence[ChatId]:
        rows = await fetch_rows(self._pool, RELEASE, worker_id=worker_id, chat_ids=chat_ids)
        return [ChatId(row["id"]) for row in rows]

    async def release_all_but(
        self, worker_id: WorkerId, kept: Sequence[ChatId]
    ) -> Sequence[ChatId]:
        rows = await fetch_rows(self._pool, RELEASE_ALL_BUT, worker_id=worker_id, kept=kept)
        return [ChatId(row["id"]) for row in rows]

    async def leave(self, worker_id: WorkerId) -> Sequence[ChatId]:
        return [
            ChatId(row["id"]) for row in await fetch_rows(self._pool, LEAVE, worker_id=worker_id)
        ]

    async def forget(self, *, lapsed_for: timedelta) -> Sequence[WorkerId]:
        return [
            WorkerId(row["id"])
            for row in await fetch_rows(self._pool, FORGET, lapsed_for=lapsed_for)
        ]

    async def expired_awaits(self, *, limit: int) -> Sequence[ChatId]:
        rows = await fetch_rows(self._pool, EXPIRED_AWAITS, limit=limit)
        return [ChatId(row["id"]) for row in rows]
