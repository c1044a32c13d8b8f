"""A change of a chat: who asks for it, what is asked, what became of it, and where to ask."""

from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from types import UnionType
from typing import Final, Protocol, TypeAlias

from holdfast.domain.audit import AuditEntry
from holdfast.domain.chat import Chat
from holdfast.domain.commands import (
    Command,
    Create,
    ExpireAwait,
    Fork,
    FromPeople,
    FromWorker,
    Interrupt,
)
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, OrgId, UserId, Version
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Answer
from holdfast.domain.rider import Rider
from holdfast.ports.store import IdempotencyKey


@dataclass(frozen=True, slots=True)
class Actor:
    """A person, as whom a command comes."""

    org_id: OrgId
    user_id: UserId


@dataclass(frozen=True, slots=True)
class Sweep:
    """The server itself: ends waits that are past their deadline, and stops the chats of disabled
    users; drives nothing."""


@dataclass(frozen=True, slots=True)
class Overseer:
    """An admin of the organisation, who may stop any of its chats and do nothing else there."""

    org_id: OrgId


By: TypeAlias = Actor | Overseer | Fence | Sweep
FROM: Final[Mapping[type[By], type | UnionType]] = {
    Actor: FromPeople,
    Overseer: Interrupt,
    Fence: FromWorker,
    Sweep: ExpireAwait | Interrupt,
}
"""Who may ask what: an unfenced step or a fenced send is a mistake of ours."""


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A bundle of commands, to be committed as one version.

    `by`: people command as themselves, a runner under its fence, and only the sweep expires. An
    admin stops the chats of others.

    `expected`: `ChangedMeanwhile` if the history is of none of these versions; the commit
    compares what was compared here.

    `audit`: what the audit log is told if, and only if, this changes the chat. `riders`: other rows
    that the commit writes with it.

    `snapshot`: the chat as its runner holds it, which saves the load while no other commit comes.
    """

    commands: tuple[Command, ...]
    _: KW_ONLY
    by: By
    key: IdempotencyKey | None = None
    expected: Collection[Version] | None = None
    audit: AuditEntry | None = None
    riders: tuple[Rider, ...] = ()
    snapshot: Chat | None = None

    def __post_init__(self) -> None:
        lawful = FROM[type(self.by)]
        assert all(isinstance(each, lawful) for each in self.commands), f"not for {self.by} to ask"
        assert self.snapshot is None or isinstance(self.by, Fence), "only a runner holds a snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What became of a bundle of commands.

    `repeated`: an earlier request with the same key did it; `answer` is what that one was told.
    """

    chat: Chat
    answer: Answer
    messages: tuple[Message, ...] = ()
    repeated: bool = False


class ChatWriter(Protocol):
    """Changes chats: the ledger, or the worker's `LocalDispatch` in front of it."""

    async def create(
        self, chat: Chat, command: Create, *, keyed: IdempotencyKey | None = None
    ) -> Commit:
        """Bring a chat into being; with a key that its owner used before, find that chat."""
        ...

    async def fork(
        self, chat: Chat, source: ChatId, command: Fork, *, keyed: IdempotencyKey | None = None
    ) -> Commit:
        """Bring a chat into being that begins with the history of another.

        Does not ask whether its owner may read that one: the caller has asked. What is
        copied is fixed by the version that was loaded, whatever happens there meanwhile.
        """
        ...

    async def transact(self, chat_id: ChatId, request: ChangeRequest) -> Commit:
        """Commit what is asked as one version, or raise why not."""
        ...
