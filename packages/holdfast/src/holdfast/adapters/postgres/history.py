"""History read from PostgreSQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.adapters.postgres.coalesce import Coalescer
from holdfast.adapters.postgres.codec import unescape
from holdfast.adapters.postgres.numbers import SEQ_MAX, VERSION_MAX
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.rows import RowLike, message_from_row, queued_from_row
from holdfast.adapters.postgres.store import fetch_row, fetch_rows
from holdfast.domain.chat import Status
from holdfast.domain.ids import ChatId, Epoch, QueuedId, Seq, Version, VersionStamp, WorkerId
from holdfast.domain.messages import Message, MessageBody
from holdfast.ports.history import PAGE_BYTES_MAX, Changes, Head, HistoryPage, OlderPath

PAGE: Final = load_query("page_of_history")
PAGE_AFTER: Final = load_query("page_after")
PAGES: Final = load_query("pages_of_histories")
PROMPT_BYTES: Final = load_query("prompt_bytes")
PROMPT_PREFIX: Final = load_query("prompt_prefix")
CHANGES: Final = load_query("changes_since")
HEADS: Final = load_query("heads")
MOVED: Final = load_query("moved")
OLDER_PATHS: Final = load_query("older_paths")
QUEUED: Final = load_query("queued_message")
SHARED_BYTES_MAX: Final = 4 * 2**20
"""What a statement that several readers share brings, but for one message of each: long messages of
one reader do not delay the others. The reader of a page that was cut reads on by itself."""
_STATUSES: Final = frozenset(status.value for status in Status)


@dataclass(frozen=True, slots=True)
class _PageRequest:
    chat_id: ChatId
    limit: int
    before: Seq | None
    as_of: Version | None
    bytes_max: int


class PostgresHistory:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._pages = Coalescer(self._page, self._newest)

    async def page(
        self,
        chat_id: ChatId,
        *,
        limit: int,
        before: Seq | None = None,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> HistoryPage:
        wanted = _PageRequest(chat_id, limit, before, as_of, bytes_max)
        # What runners of one acquire ask for, all in the same instant.
        if before is None and as_of is not None:
            return await self._pages.ask(wanted)
        return await self._page(wanted)

    async def _page(self, wanted: "_PageRequest") -> HistoryPage:
        before = wanted.before
        rows = await fetch_rows(
            self._pool,
            PAGE,
            chat_id=wanted.chat_id,
            before=SEQ_MAX if before is None else min(before, SEQ_MAX),
            limit=wanted.limit,
            as_of=_version(wanted.as_of),
            bytes_max=wanted.bytes_max,
        )
        met = rows[0]["met"] if rows else 0
        return _page_of([message_from_row(row) for row in reversed(rows)], wanted.limit, met)

    async def _newest(self, wanted: Sequence["_PageRequest"]) -> list[HistoryPage]:
        limit = max(each.limit for each in wanted)
        rows = await fetch_rows(
            self._pool,
            PAGES,
            chat_ids=[each.chat_id for each in wanted],
            as_ofs=[_version(each.as_of) for each in wanted],
            limit=limit,
            bytes_max=min(max(each.bytes_max for each in wanted), SHARED_BYTES_MAX // len(wanted)),
        )
        found = [list[Message]() for _ in wanted]
        met = [0] * len(wanted)
        for row in rows:
            place: int = row["place"]
            found[place - 1].append(message_from_row(row))
            met[place - 1] = row["met"]
        return [
            _page_of(messages[-each.limit :], each.limit, min(each.limit, number))
            for each, messages, number in zip(wanted, found, met, strict=True)
        ]

    async def page_after(
        self,
        chat_id: ChatId,
        after: Seq,
        *,
        limit: int,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> Sequence[Message]:
        rows = await fetch_rows(
            self._pool,
            PAGE_AFTER,
            chat_id=chat_id,
            after=min(after, SEQ_MAX),
            limit=limit,
            as_of=_version(as_of),
            bytes_max=bytes_max,
        )
        return [message_from_row(row) for row in rows]

    async def changes_since(
        self,
        chat_id: ChatId,
        version: Version,
        *,
        limit: int,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> Changes | None:
        rows = await fetch_rows(
            self._pool,
            CHANGES,
            chat_id=chat_id,
            version=min(version, VERSION_MAX),
            limit=limit,
            as_of=_version(as_of),
            bytes_max=bytes_max,
        )
        if not rows:
            return None
        hidden_from = rows[0]["hidden_from"]
        written = tuple(message_from_row(row) for row in rows if row["seq"] is not None)
        return Changes(
            version=Version(rows[0]["version"]),
            history_version=Version(rows[0]["history_version"]),
            history_stamp=VersionStamp(rows[0]["history_stamp"]),
            hidden_from=None if hidden_from is None else Seq(hidden_from),
            written=written,
            complete=not written or len(written) == rows[0]["met"] < limit,
        )

    async def prompt_prefix(self, digest: str) -> str | None:
        row = await fetch_row(self._pool, PROMPT_PREFIX, digest=digest)
        return None if row is None else unescape(row["content"])

    async def prompt_bytes(self, chat_id: ChatId, *, as_of: Version) -> int:
        row = await fetch_row(self._pool, PROMPT_BYTES, chat_id=chat_id, as_of=_version(as_of))
        return 0 if row is None else row["bytes"]

    async def heads(self, chat_ids: Sequence[ChatId]) -> Sequence[Head]:
        rows = await fetch_rows(self._pool, HEADS, chat_ids=chat_ids)
        # One in a status that this version does not know is no chat that it can drive.
        return [_head(row) for row in rows if row["status"] in _STATUSES]

    async def moved(
        self, known: Mapping[ChatId, tuple[Version, VersionStamp]]
    ) -> Sequence[tuple[ChatId, Version | None]]:
        rows = await fetch_rows(
            self._pool,
            MOVED,
            chat_ids=list(known),
            versions=[version for version, _ in known.values()],
            stamps=[stamp for _, stamp in known.values()],
        )
        return [
            (ChatId(row["id"]), None if row["version"] is None else Version(row["version"]))
            for row in rows
        ]

    async def older_paths(
        self, chat_id: ChatId, *, limit: int, before: Version | None = None
    ) -> Sequence[OlderPath]:
        rows = await fetch_rows(
            self._pool, OLDER_PATHS, chat_id=chat_id, limit=limit, before=_version(before)
        )
        return [
            OlderPath(Version(row["version"]), Seq(row["first_seq"]), row["messages"])
            for row in rows
        ]

    async def queued(self, chat_id: ChatId, queued_id: QueuedId) -> MessageBody | None:
        row = await fetch_row(self._pool, QUEUED, chat_id=chat_id, queued_id=queued_id)
        return None if row is None else queued_from_row(row)


def _head(row: RowLike) -> Head:
    return Head(
        chat_id=ChatId(row["id"]),
        version=Version(row["version"]),
        history_version=Version(row["history_version"]),
        status=Status(row["status"]),
        worker_id=None if row["worker_id"] is None else WorkerId(row["worker_id"]),
        epoch=Epoch(row["epoch"]),
    )


def _version(number: Version | None) -> Version | None:
    return None if number is None else Version(min(number, VERSION_MAX))


def _page_of(messages: Sequence[Message], limit: int, met: int) -> HistoryPage:
    """`met`: messages that the page would have without a bound in bytes."""
    more = len(messages) < met or (len(messages) == limit and messages[0].seq > 1)
    return HistoryPage(tuple(messages), messages[0].seq if more else None)
