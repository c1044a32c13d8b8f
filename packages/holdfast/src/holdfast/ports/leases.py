"""Leases: one per worker, on the database's clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from holdfast.domain.chat import Chat
from holdfast.domain.ids import ChatId, OrgId, WorkerId


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A chat that this version cannot read, and why."""

    chat_id: ChatId
    why: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """A chat that keeps losing its workers, and that no live worker drives."""

    chat_id: ChatId
    takeovers: int
    """In a row, the one to come included."""


@dataclass(frozen=True, slots=True)
class StoppingChat:
    """A chat of a disabled user that would go on. `seen_at`: now, on the database's clock."""

    chat_id: ChatId
    org_id: OrgId
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Acquired:
    """`chats` and `unreadable` are owned by who acquired them; `unreadable` ones are to be set
    aside. `suspects` are not acquired."""

    chats: Sequence[Chat] = ()
    unreadable: Sequence[Unreadable] = ()
    suspects: Sequence[Suspect] = ()


class Leases(Protocol):
    """Every method is one statement, whatever the number of chats."""

    async def join(self, worker_id: WorkerId, *, name: str, ttl: timedelta) -> None: ...

    async def heartbeat(self, worker_id: WorkerId, *, ttl: timedelta) -> datetime | None:
        """Renew, and say when the lease now ends; None if it has lapsed: then begin anew."""
        ...

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        ring_start: UUID,
        alone_from: int | None = None,
        only: Sequence[ChatId] | None = None,
    ) -> Acquired:
        """Acquire chats that no live worker owns, and return them as they now are: an attempt at
        their next step is begun where `begun_by_acquiring` says so. No hint was published yet.

        `alone_from`: running chats whose takeover would be this one in a row, or a later one, are
        named as suspects instead. A release begins the count anew. `only`: acquire nothing but
        these, and of them those whose worker is dead.
        """
        ...

    async def release(
        self,
        worker_id: WorkerId,
        chat_ids: Sequence[ChatId],
        *,
        undriven: Sequence[ChatId] = (),
    ) -> Sequence[ChatId]:
        """`undriven`: those of them that no runner was started for. The attempt that acquiring them
        has begun is forgiven."""
        ...

    async def set_aside(
        self, worker_id: WorkerId, unreadable: Sequence[Unreadable]
    ) -> Sequence[ChatId]:
        """Release chats that cannot be read. They are neither acquired nor expired by this version
        until their next commit, and the attempt that acquiring has begun is forgiven."""
        ...

    async def release_all_but(
        self, worker_id: WorkerId, kept: Sequence[ChatId]
    ) -> Sequence[ChatId]:
        """Release what a worker holds without knowing: an acquire's answer may get lost. None of it
        was driven, so the attempt that acquiring has begun is forgiven."""
        ...

    async def leave(self, worker_id: WorkerId) -> Sequence[ChatId]:
        """End the lease at once and release whatever it held."""
        ...

    async def forget(self, *, lapsed_for: timedelta) -> Sequence[WorkerId]:
        """Remove workers that lapsed long ago and hold nothing."""
        ...

    async def expired_awaits(self, *, limit: int) -> Sequence[ChatId]: ...

    async def stopping_chats(self, *, limit: int) -> Sequence[StoppingChat]:
        """Chats of disabled users that would go on."""
        ...
