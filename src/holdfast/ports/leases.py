"""Leases: one per worker, on the database's clock."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId, WorkerId


class Leases(Protocol):
    """Every method is one statement, whatever the number of chats."""

    async def join(self, worker_id: WorkerId, *, name: str, ttl: timedelta) -> None: ...

    async def heartbeat(self, worker_id: WorkerId, *, ttl: timedelta) -> datetime | None:
        """Renew, and say when the lease now ends; None if it has lapsed: then begin anew."""
        ...

    async def acquire(self, worker_id: WorkerId, *, limit: int, ring_start: UUID) -> Sequence[Chat]:
        """Own chats that nobody alive does, as they now are: an attempt at their next step is begun
        where `begun_by_acquiring` says so. Nobody has been told."""
        ...

    async def release(
        self, worker_id: WorkerId, chat_ids: Sequence[ChatId]
    ) -> Sequence[ChatId]: ...

    async def release_all_but(
        self, worker_id: WorkerId, kept: Sequence[ChatId]
    ) -> Sequence[ChatId]:
        """Release what a worker holds without knowing: an acquire's answer may get lost."""
        ...

    async def leave(self, worker_id: WorkerId) -> Sequence[ChatId]:
        """End the lease at once and release whatever it held."""
        ...

    async def forget(self, *, lapsed_for: timedelta) -> Sequence[WorkerId]:
        """Remove workers that lapsed long ago and hold nothing."""
        ...

    async def expired_awaits(self, *, limit: int) -> Sequence[ChatId]: ...
