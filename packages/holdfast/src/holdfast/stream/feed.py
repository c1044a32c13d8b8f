"""One watched chat in this process, however many read it: subscribe, then read, then tail (L66).

What the bus says is a rumour. A hint that follows what we know and carries its commit is taken as
it is, without a read; anything else (a version left out, a gap, a part of an episode we have not
heard of) causes one read of the store, whose result all readers share. Versions and numbers drop
what comes twice or late; nothing is ever guessed. A gap makes the hub's poll look at once. Stamps
tell a version that came again after lost commits (L146): then all readers begin anew.

The process that takes a message and the one that drives it are two, and each tells of its commits
in its own time: a hint may overtake the one before it. So what is ahead of us is kept for a moment,
and only if what is between does not come is it read.

Whatever changes the feed happens under its lock, so a read and a hint never overtake one another.
A newcomer reads its facts without the lock: a database that is slow for it does not silence those
who follow the bus (L149).
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from holdfast.chats.hints import NO_STAMPS, decode_inline
from holdfast.domain.chat import Chat
from holdfast.domain.errors import ChatNotFound, FormatUnknown, HoldfastError, Unavailable
from holdfast.domain.ids import NO_STAMP, NO_VERSION, ChatId, Version, VersionStamp, differ
from holdfast.ports.bus import Episode, Gap, Hint, LivePart, News
from holdfast.stream import bundle as bundles
from holdfast.stream.bundle import Bundle
from holdfast.stream.chat_reads import ChatReads
from holdfast.stream.cursor import Cursor
from holdfast.stream.events import StreamEvent, part_data
from holdfast.stream.failures import log_failure
from holdfast.stream.log import EncodedPart, Log
from holdfast.stream.sources import Sources

WARNING_EVERY_S: Final = 10.0
EARLY_MAX: Final = 64
"""News that a feed keeps while it waits for what comes before them; more, and it reads."""
_LOG_BEFORE_PAUSE: Final = 64
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FeedPart:
    """A part, and the event that it is for a reader at this version."""

    said: EncodedPart
    version: Version
    stamp: int
    event: StreamEvent


class Feed:
    def __init__(self, chat_id: ChatId, sources: Sources) -> None:
        self.chat_id = chat_id
        self.log = Log(sources.options.log_max, sources.options.log_bytes_max)
        self.version: Version = NO_VERSION
        self.stamp: VersionStamp = NO_STAMP
        self._history_stamp: VersionStamp = NO_STAMP
        self.closed = False
        self._from = sources
        self._reads = ChatReads(chat_id, sources)
        self._episode: Episode = Episode(NO_VERSION, 0)
        self._spent = False
        self._seq: int | None = None
        """The last part in the log; None: unknown, readers look to themselves."""
        self._facts: Chat | None = None
        self._lock = asyncio.Lock()
        self._facts_lock = asyncio.Lock()
        """Newcomers at the same time share one read of the facts. Taken before the feed's lock."""
        self._opening: asyncio.Event | None = asyncio.Event()
        """None once it is open, or refused: thousands of feeds are, and need no event any more."""
        self._refusal: HoldfastError | None = None
        self._waiting: dict[asyncio.Future[None], None] = {}
        self.newest: FeedPart | None = None
        """The last part as those get it who know everything before it: nearly all readers."""
        self._pause_s = 0.0
        self._read_again_at = 0.0
        self._fill_again_at = 0.0
        self._early: list[Hint | LivePart] = []
        self._overdue_timer: asyncio.TimerHandle | None = None
        self._warned_at: float | None = None
        self._lagged_untold = 0

    # The life of a feed.

    async def run(self) -> None:
        """Until cancelled. The bus may end before: then the poll alone brings news."""
        try:
            async with self._from.bus.subscribe(self.chat_id) as news:
                if not await self._open():
                    return
                async for each in news:
                    await self._hear(each)
                    if self.closed:
                        return
                    if len(self.log) >= _LOG_BEFORE_PAUSE or self.log.is_filling:
                        await asyncio.sleep(0)  # a burst must not outrun those who do read
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 - ends this feed only (L137)
            self._fail(error)
        finally:
            self.close()

    async def opened(self) -> None:
        """Returns once it is followed; raises `ChatNotFound`, `FormatUnknown` or `Unavailable` if
        it cannot be."""
        if self._opening is not None:
            await self._opening.wait()
        match self._refusal:
            case None:
                pass
            case ChatNotFound():
                raise ChatNotFound(self.chat_id)
            case FormatUnknown() as refusal:
                raise FormatUnknown(str(refusal))
            case refusal:
                raise Unavailable(str(refusal))

    def close(self) -> None:
        self.closed = True
        self._forget_early()
        self._reads.close()
        if self._opening is not None:
            self._refusal = self._refusal or Unavailable("the server stops watching")
            self._is_open()
        self._wake()

    def _fail(self, error: Exception) -> None:
        """Close after an error that another try would meet again: a row that this version cannot
        read, or a defect. Readers reconnect, and find another feed or are refused."""
        self._from.counters.failed_reads += 1
        log_failure(_LOG, f"stream: feed of chat {self.chat_id} closed by an error", error)
        self.close()

    def news(self) -> asyncio.Future[None]:
        """Done when there may be something new in the log; say `forget` if it is not waited for."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = None
        return waiter

    def forget(self, waiter: asyncio.Future[None]) -> None:
        self._waiting.pop(waiter, None)

    def _wake(self) -> None:
        # A pulse: it wakes who waits now, and who looks later finds the log.
        waiting, self._waiting = self._waiting, {}
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def _open(self) -> bool:
        try:
            async with self._lock:
                await self._refresh()
        except (ChatNotFound, Unavailable) as error:
            self._refusal = error
        except FormatUnknown as error:  # a newer replica can read it
            self._refusal = error
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - refuses the readers of this chat only (L137)
            self._refusal = Unavailable("The chat cannot be read by this server. Try again later.")
            self._fail(error)
        self._is_open()
        return self._refusal is None

    def _is_open(self) -> None:
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.set()

    # What the bus says.

    async def _hear(self, news: News) -> None:
        async with self._lock:
            match news:
                case Hint():
                    await self._hear_hint(news)
                    await self._hear_early()
                case LivePart():
                    await self._hear_part(news)
                case Gap():
                    # After a reconnect every watched chat has a gap: one poll for all of them,
                    # instead of a read for each.
                    self._from.counters.gaps += 1
                    self._from.doubt.set()
                    self._seq = self._seq or 0
                    await self._fill()

    async def _hear_hint(self, hint: Hint) -> None:
        if hint.version < self.version:
            return
        if hint.version > self.version + 1 and self._keep(hint):
            return
        next_one = hint.version == self.version + 1
        inline = decode_inline(hint.inline) if hint.version <= self.version + 1 else None
        stamps = NO_STAMPS if inline is None else inline.stamps
        if differ(self.stamp, stamps.after if next_one else stamps.commit):
            # What we know at this version was lost, or what the hint tells of: the store decides.
            await self._try_refresh(heard_out=True, anew=True)
            return
        if hint.version == self.version:
            return
        if inline is None or hint.history_version < self._episode.history_version:
            # What was said before it was heard before it.
            await self._try_refresh(heard_out=next_one)
            return
        self._from.counters.commits += 1
        self._tell(bundles.of_hint(hint, inline, self._episode, spent=self._spent))

    async def _hear_part(self, part: LivePart) -> None:
        if part.episode.is_after(self._episode):
            if self._early and self._keep(part):
                return
            await self._try_refresh()  # the commit that began it was missed
        if self._spent or not part.episode.may_be(self._episode):
            return  # a part of a step never comes after its message (L59)
        if self._seq is not None and part.seq > self._seq + 1 and not await self._fill():
            return
        if self._seq is None or part.seq > self._seq:
            self._say(part)
            self._wake()

    # What came before its time.

    def _keep(self, news: Hint | LivePart) -> bool:
        """Until what comes before it is heard, or is overdue; False: read, instead."""
        if len(self._early) >= EARLY_MAX:
            return False
        self._early.append(news)
        if self._overdue_timer is None:
            self._overdue_timer = self._from.later(self._from.options.poll_grace_s, self._overdue)
        return True

    async def _hear_early(self) -> None:
        """What was kept and whose time has come, in the order in which it came."""
        if not self._early or self._is_ahead(self._early[0]):
            return
        early, self._early = self._early, []
        for news in early:
            if self._is_ahead(news):
                self._early.append(news)
            elif isinstance(news, Hint):
                await self._hear_hint(news)
            else:
                await self._hear_part(news)
        if not self._early:
            self._forget_early()

    def _is_ahead(self, news: Hint | LivePart) -> bool:
        if isinstance(news, Hint):
            return news.version > self.version + 1
        return news.episode.is_after(self._episode)

    async def _overdue(self) -> None:
        try:
            async with self._lock:
                self._overdue_timer = None
                if self.closed or not self._early:
                    return
                await self._try_refresh()
                await self._hear_early()
                self._forget_early()  # of what is ahead even now the poll will know more
        except Exception as error:  # noqa: BLE001 - a task of the hub's: ends this feed only
            self._fail(error)

    def _forget_early(self) -> None:
        self._early.clear()
        if self._overdue_timer is not None:
            self._overdue_timer.cancel()
            self._overdue_timer = None

    async def _fill(self) -> bool:
        """Bring the log up to the live parts; False if the bus did not answer.

        A hole that stays is for each reader to see: it may have been shown what we were not.
        """
        if self._spent or self._seq is None:
            return True
        now = asyncio.get_running_loop().time()
        if now < self._fill_again_at:
            return False
        try:
            parts = await self._reads.live(self._episode, self._seq)
        except Unavailable:
            self._fill_again_at = now + self._from.options.retry_max_s
            return False
        for part in parts:
            if part.seq > self._seq:
                self._say(part)
        self._wake()
        return True

    def _say(self, part: LivePart) -> None:
        self._seq = part.seq
        self.log.append(_said(part))

    def _tell(self, bundle: Bundle) -> None:
        if not bundle.episode.may_be(self._episode):
            self._seq = 0
        self.version, self.stamp = bundle.version, bundle.stamp
        self._history_stamp = bundle.history_stamp
        self._episode, self._spent = bundle.episode, bundle.spent
        self.log.append(bundle)
        self._wake()

    # What the store says.

    async def reach(self, version: Version, *, fell: bool) -> None:
        """The poll has seen this version: read, unless the bus has told of it meanwhile.

        `fell`: it was further once, or another commit has the version that we know. The database
        lost commits that were told (a restored backup, a failover); readers begin anew.
        """
        try:
            async with self._lock:
                if not self.closed and (fell or version > self.version):
                    await self._try_refresh()
                    await self._hear_early()
        except Exception as error:  # noqa: BLE001 - a task of the hub's: ends this feed only
            self._fail(error)

    async def _try_refresh(self, *, heard_out: bool = False, anew: bool = False) -> None:
        """Read, or let it be for now: whatever is missed, the poll will find (R1)."""
        now = asyncio.get_running_loop().time()
        if now < self._read_again_at:
            return
        options = self._from.options
        try:
            await self._refresh(heard_out=heard_out, anew=anew)
            self._pause_s = 0.0
        except ChatNotFound:
            self.close()
        except Unavailable as error:
            self._from.counters.failed_reads += 1
            self._pause_s = min(max(self._pause_s * 2, options.retry_min_s), options.retry_max_s)
            self._read_again_at = now + self._pause_s
            _LOG.info("stream: chat %s cannot be read: %s", self.chat_id, error)

    async def _refresh(self, *, heard_out: bool = False, anew: bool = False) -> Chat:
        """Bring the feed to what the store says, with one read that all readers share. `anew`: if
        it stands elsewhere, what we know is not what was committed before."""
        chat = await self._reads.load()
        missed = None
        if self.version not in {NO_VERSION, chat.version} and not anew:
            missed = await self._reads.missed(chat, self._known)
        await self._move_to(chat, missed, heard_out=heard_out)
        return chat

    async def _move_to(self, chat: Chat, missed: Bundle | None, *, heard_out: bool = False) -> None:
        """Take these facts, and tell what all readers missed; None: they begin anew."""
        if self.version == NO_VERSION:
            self.version = chat.version
            self._episode, self._spent = Episode.of(chat), bundles.is_spent(chat)
        elif self._stands_elsewhere(chat):
            before = self._episode
            if not heard_out:
                await self._hear_out(chat)
            self._tell(missed or bundles.to_begin_anew(chat, self.version))
            self._facts = chat
            if missed is None or not self._episode.may_be(before):
                # What was said before we heard of the episode; without readers the next reads it.
                self._seq = 0 if self.log.readers else None
                if self._from.patience.is_left():
                    with self._from.patience.spent():
                        await self._fill()
        self._facts = chat
        self.stamp, self._history_stamp = chat.stamp, chat.history_stamp

    @property
    def _known(self) -> Cursor:
        return Cursor.of(self.version, self._history_stamp)

    def _stands_elsewhere(self, chat: Chat) -> bool:
        return chat.version != self.version or differ(chat.stamp, self.stamp)

    async def _hear_out(self, chat: Chat) -> None:
        """Tell the rest of an answer that these facts end.

        The race: its last parts and the hint of its commit are on their way (this process stood
        still, or the bus did), and the poll finds the commit first. Readers of the beginning
        would see the rest at one go. It is in the live log; but a bus that hangs is not waited for,
        or what was committed would come late (R1), and no reader shall be too slow for a long rest.
        """
        goes_on = Episode.of(chat).may_be(self._episode) and not bundles.is_spent(chat)
        if goes_on or self._spent or self._seq == 0 or not self.log.readers:
            return
        if not self._from.patience.is_left():
            return
        try:
            with self._from.patience.spent():
                rest = await self._reads.live(
                    self._episode, self._seq or 0, within_s=self._from.options.poll_grace_s
                )
        except Unavailable:
            return
        if self.log.has_room(list(map(_said, rest))):
            for part in rest:
                if self._seq is None or part.seq == self._seq + 1:
                    self._say(part)

    # For one reader.

    async def enter(self, cursor: Cursor | None) -> tuple[Chat, int | None]:
        """The facts at some version, and a position in the log from which on all that follows it
        will be; None if the log moved on without us, and one is to enter again. May raise
        `Unavailable`.

        A cursor may be ahead of us, by versions or by attempts: its reader comes from a replica
        that heard of a commit sooner.

        The position is taken before the read. What the bus brings while the read lasts is in the
        log from there on, and a reader skips what its facts contain.
        """
        position, since = self.log.enter(), self.version
        try:
            async with self._facts_lock:
                chat = self._facts
                if (
                    chat is None
                    or chat.version < since
                    or (cursor is not None and not _is_known(cursor, chat))
                ):
                    chat = await self._read_facts()
        except BaseException:
            self.log.leave(position)
            raise
        if chat.version == self.version:
            self.log.leave(position)
            return chat, self.log.enter()
        if chat.version < since or self.log.has_lost(position):
            self.log.leave(position)
            return chat, None
        return chat, position

    async def _read_facts(self) -> Chat:
        """Read without the lock, and bring the feed to what was read if it is behind."""
        since = self.version
        chat = await self._reads.load()
        if chat.version < since or (chat.version == self.version and self._stands_elsewhere(chat)):
            # The database lost commits that were told. With the lock it is certain, and all begin
            # anew.
            async with self._lock:
                return await self._refresh()
        while chat.version > (known := self.version):
            missed = await self._reads.missed(chat, self._known)
            async with self._lock:
                if self.version == known:
                    await self._move_to(chat, missed)
        if self._facts is None or self._facts.version <= chat.version:
            self._facts = chat
        return chat

    async def bundle_for(self, cursor: Cursor | None, chat: Chat) -> Bundle:
        """What brings a reader from its cursor to these facts."""
        if cursor is not None and _is_known(cursor, chat):
            if cursor.version == chat.version and cursor.place is None:
                return bundles.of_nothing(chat)
            missed = await self._reads.missed(chat, cursor)
            if missed is not None:
                return missed
        return await self._reads.snapshot(chat)

    async def said_since(self, episode: Episode, seq: int) -> tuple[list[EncodedPart], bool]:
        """The parts after a number, as many as a reader may hold, and whether there are more."""
        said: list[EncodedPart] = []
        size = 0
        for part in await self._reads.live(episode, seq):
            if size > self._from.options.parts_bytes_max:
                return said, True
            said.append(_said(part))
            size += said[-1].weight
        return said, False

    def count_lagged(self) -> None:
        """A reader was too slow. Said at most every ten seconds for a chat (L65)."""
        self._from.counters.lagged += 1
        self._lagged_untold += 1
        now = asyncio.get_running_loop().time()
        if self._warned_at is None or now - self._warned_at >= WARNING_EVERY_S:
            _LOG.warning(
                "stream: readers of chat %s were too slow %d times; they resume from the store",
                self.chat_id,
                self._lagged_untold,
            )
            self._warned_at, self._lagged_untold = now, 0


def _said(part: LivePart) -> EncodedPart:
    return EncodedPart(part.episode, part.seq, part_data(part))


def _is_known(cursor: Cursor, chat: Chat) -> bool:
    """Whether we may have written it; else its reader begins anew (R8)."""
    if cursor.version > chat.version:
        return False
    if chat.history_version > cursor.version:
        return True  # as far as the facts tell; what is read of the history tells the rest
    return cursor.attempt <= chat.attempt and cursor.may_be_of(chat.history_stamp)
