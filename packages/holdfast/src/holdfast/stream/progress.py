"""How far a feed has delivered its chat: the log of its readers, and where the log ends."""

import asyncio

from holdfast.domain.chat import Chat
from holdfast.domain.ids import NO_STAMP, NO_VERSION, Version, VersionStamp, differ
from holdfast.ports.bus import Episode, Hint, LivePart
from holdfast.stream import bundle as bundles
from holdfast.stream.bundle import Bundle
from holdfast.stream.cursor import Cursor
from holdfast.stream.log import EncodedPart, Log


class Waiters:
    """Readers that wait for the next entry of the log."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], None] = {}

    def add(self) -> asyncio.Future[None]:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = None
        return waiter

    def remove(self, waiter: asyncio.Future[None]) -> None:
        self._waiting.pop(waiter, None)

    def wake(self) -> None:
        """Wake the readers that wait now. A reader that looks later finds the log."""
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


class FeedProgress:
    """Changed only under the feed's lock."""

    __slots__ = (
        *("episode", "history_stamp", "log", "seq", "spent"),
        *("stamp", "version", "waiters"),
    )

    def __init__(self, log: Log) -> None:
        self.log = log
        self.waiters = Waiters()
        self.version: Version = NO_VERSION
        self.stamp: VersionStamp = NO_STAMP
        self.history_stamp: VersionStamp = NO_STAMP
        self.episode = Episode(NO_VERSION, 0)
        self.spent = False
        """Nothing more is said in the episode."""
        self.seq: int | None = None
        """Number of the last live part in the log. None: not known; each reader checks the
        numbers itself."""

    @property
    def cursor(self) -> Cursor:
        return Cursor.of(self.version, self.history_stamp)

    def stands_elsewhere(self, chat: Chat) -> bool:
        return chat.version != self.version or differ(chat.stamp, self.stamp)

    def is_ahead(self, news: Hint | LivePart) -> bool:
        """Whether news that this follows has not arrived yet."""
        if isinstance(news, Hint):
            return news.version > self.version + 1
        return news.episode.is_after(self.episode)

    def begin(self, chat: Chat) -> None:
        """The first facts."""
        self.version = chat.version
        self.episode, self.spent = Episode.of(chat), bundles.is_spent(chat)

    def add_part(self, part: LivePart) -> None:
        """Append a live part to the log; the caller wakes the readers."""
        self.seq = part.seq
        self.log.append(EncodedPart.of(part))

    def add_bundle(self, bundle: Bundle) -> None:
        """Append a commit to the log, and wake the readers."""
        if not bundle.episode.may_be(self.episode):
            self.seq = 0
        self.version, self.stamp = bundle.version, bundle.stamp
        self.history_stamp = bundle.history_stamp
        self.episode, self.spent = bundle.episode, bundle.spent
        self.log.append(bundle)
        self.waiters.wake()
