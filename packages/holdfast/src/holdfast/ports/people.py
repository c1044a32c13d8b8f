"""What admins see and do about the users of an organisation, as it is stored."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from holdfast.domain.accounts import User
from holdfast.domain.audit import AuditEntry
from holdfast.domain.ids import OrgId, SignInId, UserId
from holdfast.domain.policy import Filter


@dataclass(frozen=True, slots=True)
class Person:
    """A user, as admins see one. `seen_at`: to within a minute; None: never. `link_expires_at`: of
    a link that was not used yet."""

    user: User
    seen_at: datetime | None
    sessions: int
    api_keys: int
    link_expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class SeenWorker:
    """A worker process. `is_alive`: it holds its lease."""

    name: str
    started_at: datetime
    is_alive: bool
    chats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLoad:
    """`driven`: a worker has the chat. `waiting`: for a worker, the oldest one for `oldest_s`.
    `awaiting`: for an approval or for the result of a client's tool."""

    driven: int
    waiting: int
    oldest_s: float | None
    awaiting: int
    users: int
    workers: Sequence[SeenWorker]


class PeopleStore(Protocol):
    async def page(
        self,
        may: Filter,
        *,
        limit: int,
        after: tuple[str, UserId] | None = None,
        words: Sequence[str] = (),
    ) -> Sequence[Person]:
        """By name, then id. `words`: each of them is in the name or the e-mail, in any case."""
        ...

    async def names(self, org_id: OrgId, user_ids: Collection[UUID]) -> Mapping[UUID, str]: ...

    async def create_link(
        self,
        may: Filter,
        user_id: UserId,
        token_hash: bytes,
        lifetime: timedelta,
        audit: AuditEntry,
    ) -> datetime | None:
        """When it expires; the user's earlier link ends. None: there is no such user, or the user
        is disabled."""
        ...

    async def user_of_link(self, token_hash: bytes) -> User | None:
        """Whose a valid link is."""
        ...

    async def use_link(
        self, token_hash: bytes, password_hash: str, audit: AuditEntry
    ) -> User | None:
        """Set the password, and end every sign-in and API key of the user. None: the link is not
        valid."""
        ...

    async def end_sessions(
        self, may: Filter, user_id: UserId, audit: AuditEntry, *, keep: SignInId | None
    ) -> int:
        """How many ended."""
        ...

    async def stopping(self) -> Mapping[UserId, datetime]:
        """Users who were disabled a moment ago, in every organisation, and when."""
        ...

    async def load(self, org_id: OrgId) -> ServerLoad: ...
