"""Leases in PostgreSQL; all arithmetic on its clock: a wrong one here cannot matter (S5)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from holdfast.adapters.postgres.codec import escape
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.rows import RowLike, chat_from_row
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.domain.chat import Chat
from holdfast.domain.errors import FormatUnknown
from holdfast.domain.format import READS
from holdfast.domain.ids import ChatId, OrgId, WorkerId
from holdfast.ports.generation import NoSettings, SettingsGeneration
from holdfast.ports.leases import Acquired, StoppingChat, Suspect, Unreadable

JOIN: Final = load_query("join_worker")
HEARTBEAT: Final = load_query("heartbeat")
ACQUIRE: Final = load_query("acquire_chats")
RELEASE: Final = load_query("release_chats")
RELEASE_ALL_BUT: Final = load_query("release_all_but")
SET_ASIDE: Final = load_query("set_aside_chats")
LEAVE: Final = load_query("leave_worker")
FORGET: Final = load_query("forget_workers")
EXPIRED_AWAITS: Final = load_query("expired_awaits")
STOPPING_CHATS: Final = load_query("stopping_chats")

OWNERS_VISITED_MIN: Final = 8
OWNERS_VISITED_MAX: Final = 32
"""Owners looked at on either side of the ring's start: what one acquire may cost. Who takes few
chats need not ask many owners; fairness comes from a ring that begins elsewhere each time."""
INTERRUPTS_MAX: Final = 16
"""Interrupts acquired beyond the limit."""
SUSPECTS_MAX: Final = 1_000
"""Suspects named by one acquire: after an outage of the database that cost three leases in a row
they are all chats that run, and each must be driven soon."""
WHY_CHARS_MAX: Final = 500
ASIDE_FOR: Final = timedelta(minutes=10)
"""Then a chat that was set aside is tried again, whatever the version."""


class PostgresLeases:
    """`reads`: the reader level; another one only in tests of two versions side by side."""

    def __init__(
        self, pool: Pool, *, reads: int = READS, settings: SettingsGeneration | None = None
    ) -> None:
        self._pool = pool
        self._settings = settings or NoSettings()
        self._reads = reads

    async def join(self, worker_id: WorkerId, *, name: str, ttl: timedelta) -> None:
        await fetch_rows(self._pool, JOIN, worker_id=worker_id, name=name, ttl=ttl)

    async def heartbeat(self, worker_id: WorkerId, *, ttl: timedelta) -> datetime | None:
        row = await fetch_row(self._pool, HEARTBEAT, worker_id=worker_id, ttl=ttl)
        if row is None:
            return None
        self._settings.saw(row["generation"])
        return row["lease_until"]

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        ring_start: UUID,
        alone_from: int | None = None,
        only: Sequence[ChatId] | None = None,
    ) -> Acquired:
        rows = await fetch_rows(
            self._pool,
            ACQUIRE,
            worker_id=worker_id,
            limit=limit,
            ring_start=ring_start,
            owners_max=min(OWNERS_VISITED_MAX, max(OWNERS_VISITED_MIN, limit)),
            interrupts_max=INTERRUPTS_MAX,
            suspects_max=SUSPECTS_MAX,
            alone_from=alone_from,
            only=only,
            reads=self._reads,
            aside_for=ASIDE_FOR,
        )
        self._settings.saw(rows[0]["generation"])
        # The statement has taken effect by now: one unreadable row must not lose the others, by
        # whatever error of its decoder.
        chats, unreadable = list[Chat](), list[Unreadable]()
        for row in rows:
            if row["id"] is None:
                continue  # nothing was acquired: the row is there for the suspects
            try:
                chats.append(chat_from_row(row))
            except FormatUnknown as error:
                unreadable.append(Unreadable(ChatId(row["id"]), str(error)))
            except Exception as error:  # noqa: BLE001 - it is this row's
                unreadable.append(Unreadable(ChatId(row["id"]), repr(error)))
        return Acquired(chats, unreadable, _suspects(rows))

    async def release(
        self,
        worker_id: WorkerId,
        chat_ids: Sequence[ChatId],
        *,
        undriven: Sequence[ChatId] = (),
    ) -> Sequence[ChatId]:
        rows = await fetch_rows(
            self._pool, RELEASE, worker_id=worker_id, chat_ids=chat_ids, undriven=undriven
        )
        return [ChatId(row["id"]) for row in rows]

    async def set_aside(
        self, worker_id: WorkerId, unreadable: Sequence[Unreadable]
    ) -> Sequence[ChatId]:
        rows = await fetch_rows(
            self._pool,
            SET_ASIDE,
            worker_id=worker_id,
            chat_ids=[each.chat_id for each in unreadable],
            whys=[escape(each.why[:WHY_CHARS_MAX]) for each in unreadable],
            reads=self._reads,
        )
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
        rows = await fetch_rows(
            self._pool, EXPIRED_AWAITS, limit=limit, reads=self._reads, aside_for=ASIDE_FOR
        )
        return [ChatId(row["id"]) for row in rows]

    async def stopping_chats(self, *, limit: int) -> Sequence[StoppingChat]:
        rows = await fetch_rows(self._pool, STOPPING_CHATS, limit=limit)
        return [
            StoppingChat(ChatId(row["id"]), OrgId(row["org_id"]), row["seen_at"]) for row in rows
        ]


def _suspects(rows: Sequence[RowLike]) -> list[Suspect]:
    """The same in every row."""
    ids = rows[0]["suspect_ids"] or ()
    return [
        Suspect(ChatId(chat_id), takeovers)
        for chat_id, takeovers in zip(ids, rows[0]["suspect_takeovers"] or (), strict=True)
    ]
