"""The bus on PostgreSQL: an unlogged table for latecomers, NOTIFY for who follows.

One statement per tick on a connection of its own keeps the parts and tells of them. Never in the
transaction of a commit: a NOTIFY there would serialise every commit of the database.

A note that is told is text of less than 8,000 bytes and begins with what it is:

    h… p… s…   a frame (see wire)
    =…         a frame that is not text, in base64
    @…         the first line of a part too long to tell: a reader that needs it reads the table

In front of each is its seal (see seal): any role that may connect can NOTIFY. Rows of the table
have none: a role that may write there was granted that, as it was for messages.
"""

import asyncio
import logging
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from holdfast.adapters.bus.engine import Deliver, Item
from holdfast.adapters.bus.lossy import LossyBus
from holdfast.adapters.bus.options import BusOptions
from holdfast.adapters.bus.queries import load_query
from holdfast.adapters.bus.seal import SEAL_BYTES, FrameSeal
from holdfast.adapters.bus.wire import (
    Topic,
    addressed,
    decode,
    encode_hint,
    encode_part,
    topic_name,
)
from holdfast.adapters.statements import Query
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import GAP, BusCounters, Episode, Gap, Hint, LivePart, SettingsHint

FLUSH: Final = load_query("flush")
READ_LIVE: Final = load_query("read_live")
SLOT_TO_EMPTY: Final = load_query("slot_to_empty")
MAY_EMPTY: Final = load_query("may_empty")
EMPTY_SLOT: Final[Sequence[Query]] = [load_query(f"empty_slot_{slot}") for slot in range(3)]
STILL_THERE: Final = load_query("still_there")

NOTE_BYTES_MAX: Final = 7_999 - SEAL_BYTES
SEQ_MAX: Final = 2**31 - 1
NOTES_WAITING_MAX: Final = 10_000
FAULTS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the driver, when it is cut off between two of its messages
    OSError,
    TimeoutError,
)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
_LOG: Final = logging.getLogger(__name__)


def open_postgres_bus(
    url: str, options: BusOptions | None = None, *, key: bytes | None = None
) -> LossyBus:
    """A bus on a migrated database; to be entered with `async with`. `key`: see `FrameSeal`."""
    options, counters = options or BusOptions(), BusCounters()
    return LossyBus(PostgresEngine(url, options, FrameSeal(key, counters)), options, counters)


class PostgresEngine:
    faults = FAULTS

    def __init__(self, url: str, options: BusOptions, seal: FrameSeal) -> None:
        self._seal = seal
        self._url = url
        self._options = options

    @asynccontextmanager
    async def connect_sender(self) -> AsyncGenerator["PostgresSender"]:
        async with self._connect() as connection:
            may_empty = await _may_empty(connection)
            yield PostgresSender(connection, self._options, self._seal, may_empty=may_empty)

    @asynccontextmanager
    async def connect_receiver(self, deliver: Deliver) -> AsyncGenerator["PostgresReceiver"]:
        async with self._connect() as connection:
            yield PostgresReceiver(connection, deliver, self._options, self._seal)

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[Connection]:
        connection: Connection = await asyncpg.connect(
            self._url,
            timeout=self._options.connect_timeout_s,
            command_timeout=self._options.answer_timeout_s,
            target_session_attrs=SessionAttribute.read_write,
            server_settings={
                "application_name": "holdfast bus",
                "default_transaction_isolation": "read committed",
                "jit": "off",
                "plan_cache_mode": "force_generic_plan",
                # Nothing on the bus is worth a wait for the disk.
                "synchronous_commit": "off",
                # Emptying a slot wants it alone; statements behind it must not wait for that long.
                "lock_timeout": "200",
            },
        )
        try:
            yield connection
        finally:
            with suppress(*FAULTS):
                await connection.close(timeout=1)


class PostgresSender:
    def __init__(
        self, connection: Connection, options: BusOptions, seal: FrameSeal, *, may_empty: bool
    ) -> None:
        self._seal = seal
        self._connection = connection
        self._may_empty = may_empty
        self._window_s = options.live_ttl_s
        self._emptied_at = float("-inf")

    async def send(self, batch: Sequence[Item]) -> None:
        if batch:
            parts: list[LivePart] = []
            channels: list[str] = []
            notes: list[str] = []
            for item in batch:
                if isinstance(item, LivePart):
                    parts.append(item)
                    channels.append(_channel(item.chat_id))
                    notes.append(self._sealed(item.chat_id, _part_note(item)))
                    continue
                for topic, hint in addressed(item):
                    channels.append(_channel(topic))
                    notes.append(self._sealed(topic, _hint_note(hint)))
            await _fetch(
                self._connection,
                FLUSH,
                window_s=self._window_s,
                chat_ids=[part.chat_id for part in parts],
                history_versions=[part.episode.history_version for part in parts],
                attempts=[part.episode.attempt for part in parts],
                history_stamps=[part.episode.history_stamp for part in parts],
                seqs=[part.seq for part in parts],
                payloads=[part.payload for part in parts],
                turn_seqs=[part.turn_seq for part in parts],
                channels=channels,
                notes=notes,
            )
        now = asyncio.get_running_loop().time()
        if self._may_empty and now - self._emptied_at > self._window_s / 4:
            await self._empty_next_slot()
            self._emptied_at = now
        elif not batch:
            await _fetch(self._connection, STILL_THERE)

    def _sealed(self, topic: Topic, note: str) -> str:
        return self._seal.sealed(topic, note.encode()).decode()

    async def _empty_next_slot(self) -> None:
        """What was written two windows ago goes, whole. Any replica may do it, and one is enough.

        Late by a window (a replica stood still between the question and the answer) it empties the
        slot that is written now: a gap in the live log, which is lossy by contract.
        """
        rows = await _fetch(self._connection, SLOT_TO_EMPTY, window_s=self._window_s)
        # A latecomer may be reading: the next time will do.
        with suppress(asyncpg.LockNotAvailableError):
            for row in rows:
                slot: int = row["slot"]
                await _fetch(self._connection, EMPTY_SLOT[slot])


class PostgresReceiver:
    """LISTEN and the questions of latecomers share a connection, one statement at a time."""

    def __init__(
        self, connection: Connection, deliver: Deliver, options: BusOptions, seal: FrameSeal
    ) -> None:
        self._seal = seal
        self._connection = connection
        self._deliver = deliver
        self._options = options
        self._asking = asyncio.Lock()
        self._topics: dict[str, Topic] = {}
        self._waiting: deque[tuple[ChatId, str]] = deque()
        self._wake = asyncio.Event()
        connection.add_termination_listener(self._on_end)

    async def watch(self, topics: Collection[Topic]) -> None:
        for topic in topics:
            channel = _channel(topic)
            self._topics[channel] = topic
            async with self._asking:
                await self._connection.add_listener(channel, self._on_note)

    async def unwatch(self, topics: Collection[Topic]) -> None:
        for topic in topics:
            channel = _channel(topic)
            self._topics.pop(channel, None)
            async with self._asking:
                await self._connection.remove_listener(channel, self._on_note)

    async def run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._options.ping_every_s):
                    await self._wake.wait()
            except TimeoutError:
                # A cut connection may say nothing for as long as the kernel likes.
                await self._ask(STILL_THERE)
                continue
            self._wake.clear()
            if self._connection.is_closed():
                raise ConnectionError("PostgreSQL closed the connection")
            if len(self._waiting) > NOTES_WAITING_MAX:
                raise ConnectionError("too many notes wait for a long one: begin again with a gap")
            while self._waiting:
                chat_id, note = self._waiting[0]
                news = (
                    await self._fetch_part(chat_id, note)
                    if note[0] == "@"
                    else _read(chat_id, note)
                )
                # Only now: until then later notes must find the deque occupied, and queue up.
                self._waiting.popleft()
                self._deliver(chat_id, news)

    async def read_live(
        self, chat_id: ChatId, episode: Episode, after_seq: int, upto_seq: int = SEQ_MAX
    ) -> Sequence[LivePart]:
        rows = await self._ask(
            READ_LIVE,
            chat_id=chat_id,
            history_version=episode.history_version,
            attempt=episode.attempt,
            history_stamp=episode.history_stamp,
            after_seq=after_seq,
            upto_seq=upto_seq,
        )
        return [
            LivePart(chat_id, episode, row["seq"], row["payload"], row["turn_seq"]) for row in rows
        ]

    async def _fetch_part(self, chat_id: ChatId, note: str) -> LivePart | Gap:
        named = decode(chat_id, b"p" + note[1:].encode())
        if not isinstance(named, LivePart):
            return GAP
        found = await self.read_live(chat_id, named.episode, named.seq - 1, named.seq)
        return found[0] if found else GAP

    async def _ask(self, query: Query, **parameters: object) -> list[Any]:
        async with self._asking:
            return await _fetch(self._connection, query, **parameters)

    def _on_note(self, _connection: object, _pid: int, channel: str, note: object) -> None:
        topic = self._topics.get(channel)
        if topic is None or not isinstance(note, str):
            return
        opened = self._seal.opened(topic, note.encode("utf-8", "surrogatepass"))
        if not opened:
            self._deliver(topic, GAP)
            return
        note = opened.decode("utf-8", "surrogatepass")
        if isinstance(topic, str) or not (self._waiting or note[0] == "@"):
            self._deliver(topic, _read(topic, note))
        elif len(self._waiting) <= NOTES_WAITING_MAX:
            self._waiting.append((topic, note))
            self._wake.set()

    def _on_end(self, _connection: object) -> None:
        self._wake.set()


async def _may_empty(connection: Connection) -> bool:
    """Whether our role may truncate the live log. If not, the log tells the operator what to do:
    each attempt to truncate it would cost the connection."""
    (row,) = await _fetch(connection, MAY_EMPTY)
    if not row["may_empty"]:
        _LOG.warning(
            "bus: the database role %s lacks TRUNCATE on the live log, which grows without bound;"
            " as the owner of the tables, run: grant truncate on live_parts_0, live_parts_1,"
            " live_parts_2 to %s",
            row["role"],
            row["role"],
            extra={"seldom": "may not empty"},
        )
    return row["may_empty"]


async def _fetch(connection: Connection, query: Query, **parameters: object) -> list[Any]:
    return await connection.fetch(query.text, *query.values(parameters))


def _channel(topic: Topic) -> str:
    return f"holdfast:{topic_name(topic)}"


def _part_note(part: LivePart) -> str:
    return _write(encode_part(part)) or f"@{encode_part(replace(part, payload=b''))[1:].decode()}"


def _hint_note(hint: Hint | SettingsHint) -> str:
    note = _write(encode_hint(hint))
    if note is None and isinstance(hint, Hint):
        # A hint too long to tell leaves its commit out: its reader reads the truth.
        note = _write(encode_hint(replace(hint, inline=b"")))
    assert note, "a hint without its commit is short"
    return note


def _write(frame: bytes) -> str | None:
    """The frame as a note, if it fits into one."""
    if len(frame) > NOTE_BYTES_MAX:
        return None
    try:
        note = frame.decode()
    except UnicodeDecodeError:
        note = "\0"
    if "\0" in note:  # not text, or not text to PostgreSQL
        note = "=" + b64encode(frame).decode()
        return note if len(note) <= NOTE_BYTES_MAX else None
    return note


def _read(topic: Topic, note: str) -> Item | Gap:
    try:
        return decode(topic, b64decode(note[1:]) if note[0] == "=" else note.encode())
    except ValueError:
        return GAP
