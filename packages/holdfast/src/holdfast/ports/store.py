"""Loading a chat's facts and committing what was decided: compare and set, never a transaction."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from holdfast.domain.chat import Facts
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey, Epoch, Seq, UserId, Version, VersionStamp
from holdfast.domain.outcome import Answer, Outcome
from holdfast.domain.parts import Part


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A request's idempotency key, and a digest of the request to tell a repeat from a reuse."""

    key: ClientKey
    digest: bytes


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was answered to the first request with a key."""

    digest: bytes
    answer: Answer


@dataclass(frozen=True, slots=True)
class Upto:
    """A history: up to a message (None: its last), as of a version (None: now)."""

    at: Seq | None = None
    as_of: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadQuery:
    """What a decision needs to know beside the facts that are always loaded."""

    target: Seq | None = None
    past: Version | None = None
    origin: Upto | None = None
    key: ClientKey | None = None


JUST_THE_CHAT = LoadQuery()


@dataclass(frozen=True, slots=True)
class Loaded:
    facts: Facts
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Created:
    """The chat that an earlier request with the same key made."""

    chat_id: ChatId
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Stamp:
    """What only the store knows of a commit: under which epoch it fell, when, and the parts of the
    message that it promoted."""

    epoch: Epoch
    at: datetime
    promoted: tuple[Part, ...] = ()


class Store(Protocol):
    """Every method is one round trip (the `load` of a restore or a fork is two), and may raise
    `Unavailable`."""

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None: ...

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        """Commit a new chat; None if its owner has used this key before."""
        ...

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None: ...

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        """Commit all of an outcome, or nothing and None: the version moved on, it has another
        stamp, the fence moved on, the taker's lease has lapsed, or the key was used before."""
        ...

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        """Store the receipt of a request that changed nothing at the version of its answer; False:
        the version moved on, it has another stamp, or the key was used before."""
        ...
