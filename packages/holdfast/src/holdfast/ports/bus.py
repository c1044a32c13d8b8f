"""The bus: hints («chat X reached version N»), live parts (what the model says right now), and
hints about settings, which have a topic of their own.

Lossy by contract: if the bus loses everything, no message is lost. A reader treats each event as a
rumour: it may come twice, late or never, and `GAP` says that something may have been
missed. What one publisher says about one chat keeps its order.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias

from holdfast.domain.chat import Chat, Status
from holdfast.domain.ids import (
    NO_STAMP,
    NO_VERSION,
    ChatId,
    OrgId,
    Seq,
    UserId,
    Version,
    VersionStamp,
    WorkerId,
    differ,
)


class Episode(NamedTuple):
    """Whose parts these are: the chat's history as it was, and which attempt to continue it.

    A database that lost commits counts the same numbers again. The stamp of the history does not
    come again, so the parts of a lost history are never read for the one in its place (L146).
    """

    history_version: Version
    attempt: int
    history_stamp: VersionStamp = NO_STAMP

    @classmethod
    def of(cls, chat: Chat) -> "Episode":
        """The one that this chat is in."""
        return cls(chat.history_version, chat.attempt, chat.history_stamp)

    def is_after(self, other: "Episode") -> bool:
        """By the numbers; whether both are of one history, the stamps tell."""
        return self[:2] > other[:2]

    def may_be(self, other: "Episode") -> bool:
        """Whether both are the same, as far as their stamps are known: parts and hints of older
        versions of the software have none."""
        # Asked for each part and reader, nearly always of two equal ones.
        return self == other or (
            self[:2] == other[:2] and not differ(self.history_stamp, other.history_stamp)
        )


@dataclass(frozen=True, slots=True)
class Hint:
    """«Chat X reached version N.»

    `runnable`: the chat has work and no worker drives it. `worker_id`: the worker that drives it,
    if another process wrote this: that worker gets the hint, too. `listed_for`: the user whose list
    changed: the watchers of that list get the hint, too; a hint without a version goes only there.
    `inline`: the commit itself, encoded by the publisher; a bus may leave it out, and then the
    reader reads the database.
    """

    chat_id: ChatId
    version: Version
    status: Status
    history_version: Version = NO_VERSION
    runnable: bool = False
    worker_id: WorkerId | None = None
    listed_for: UserId | None = None
    inline: bytes = b""


@dataclass(frozen=True, slots=True)
class SettingsHint:
    """«The settings of organisation X reached version N.»"""

    org_id: OrgId
    version: int


@dataclass(frozen=True, slots=True)
class LivePart:
    """A numbered piece of an episode. `seq` is 1, 2, 3 … within the episode. `turn_seq`: the user
    message that began the turn."""

    chat_id: ChatId
    episode: Episode
    seq: int
    payload: bytes
    turn_seq: Seq | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """Something may have been missed: read the truth."""


GAP: Final = Gap()

News: TypeAlias = Hint | LivePart | Gap


@dataclass(slots=True)
class BusCounters:
    """What the bus did, for the metrics. Only grows, but for `watching`."""

    sent_hints: int = 0
    sent_parts: int = 0
    dropped_hints: int = 0
    dropped_parts: int = 0
    reconnects: int = 0
    lagged: int = 0
    """Events that a follower was too slow for; it got a gap instead."""
    refused_frames: int = 0
    """Frames that no process of this deployment made."""
    watching: int = 0
    """Chats that this process watches now, however many follow each."""


class Hints(Protocol):
    async def publish(self, hints: Sequence[Hint]) -> None:
        """Send the hints to their followers. Never raises and never waits: the change is
        committed."""
        ...


class SettingsBus(Protocol):
    """The topic of settings: every process subscribes to it."""

    async def announce_settings(self, hint: SettingsHint) -> None:
        """Tell every process. Never raises and never waits: the change is committed."""
        ...

    def subscribe_settings(
        self,
    ) -> AbstractAsyncContextManager[AsyncIterator[SettingsHint | Gap]]:
        """Every announced change, of all organisations; as `subscribe` gives those of a chat."""
        ...


class Bus(Hints, Protocol):
    @property
    def counters(self) -> BusCounters: ...

    async def append(self, parts: Sequence[LivePart]) -> None:
        """Keep the parts for latecomers and show them to who follows. Never raises, never waits.

        No reader is shown a part that a latecomer could not read as well (R4).
        """
        ...

    def subscribe(self, chat_id: ChatId) -> AbstractAsyncContextManager[AsyncIterator[News]]:
        """Everything published about a chat from the moment that the block is entered.

        Never raises. If the engine is away, the block is entered all the same, and a gap is given
        once it is back. So: subscribe, then read the truth, then follow (L66). Ends with the bus.
        """
        ...

    def subscribe_work(
        self, worker_id: WorkerId
    ) -> AbstractAsyncContextManager[AsyncIterator[Hint | Gap]]:
        """What a worker must know: hints about every chat that waits for a worker, and about
        changes by others to the chats that it drives; as `subscribe` gives those of one."""
        ...

    def subscribe_lists(
        self, user_id: UserId
    ) -> AbstractAsyncContextManager[AsyncIterator[Hint | Gap]]:
        """Hints about the chats whose place in a user's list changed."""
        ...

    async def read_live(
        self, chat_id: ChatId, episode: Episode, after_seq: int = 0
    ) -> Sequence[LivePart]:
        """The parts of an episode so far, by number, without doubles; empty once they expired.

        Raises `Unavailable`, in bounded time: a successor must be able to tell an empty reply
        from a bus that did not answer.
        """
        ...
