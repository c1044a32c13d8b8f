"""Lists of chats from PostgreSQL; what may not be seen is not fetched."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from holdfast.adapters.postgres.audit import audit_parameters, audited_if
from holdfast.adapters.postgres.codec import decode_json, escape, unescape
from holdfast.adapters.postgres.numbers import SEQ_MAX, VERSION_MAX
from holdfast.adapters.postgres.policy import actor_parameters, filtered, listed
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import Query, load_query
from holdfast.adapters.postgres.rows import RowLike, metadata_to_json
from holdfast.adapters.postgres.store import (
    fetch_row,
    fetch_rows,
    fetch_rows_within,
)
from holdfast.domain.audit import AuditEntry
from holdfast.domain.chat import Status
from holdfast.domain.errors import TooSlow
from holdfast.domain.ids import ChatId, OrgId, Seq, UserId, Version
from holdfast.domain.parts import Need
from holdfast.domain.policy import Condition, Filter, TargetKind
from holdfast.ports.listing import (
    UNCHANGED,
    ChatPatch,
    Entry,
    ListChanges,
    ListFilter,
    ListPosition,
    Mark,
    Share,
)

NOW: Final = load_query("watch_now")
POLL: Final = load_query("watch_poll")
SEARCHED_UNTIL: Final = load_query("searched_until_begin", "searched_until_end")
SEARCHED_UNTIL_AFTER: Final = load_query("searched_until_begin", "list_after", "searched_until_end")
LIST_S: Final = 2.0
_STATUSES: Final = frozenset(status.value for status in Status)
_NEEDS: Final = frozenset(need.value for need in Need)


class PostgresListing:
    def __init__(self, pool: Pool, *, within_s: float = LIST_S) -> None:
        """`within_s`: what a list or a search may take; then it raises `TooSlow`."""
        self._pool = pool
        self._within_s = within_s
        self.too_slow = 0

    async def page(
        self,
        may: Filter,
        wanted: ListFilter,
        *,
        limit: int,
        after: ListPosition | None = None,
        until: ListPosition | None = None,
    ) -> Sequence[Entry]:
        conditions = _conditions(may, wanted)
        if not conditions:
            return []
        rows = await self._fetch(
            listed(conditions, after=after is not None, until=until is not None),
            **actor_parameters(may),
            statuses=None if wanted.statuses is None else [s.value for s in wanted.statuses],
            archived=wanted.archived,
            pinned=wanted.pinned,
            label=None if wanted.label is None else escape(wanted.label),
            metadata=metadata_to_json(wanted.metadata) if wanted.metadata else None,
            title_has=None if wanted.title_has is None else escape(wanted.title_has),
            after_at=None if after is None else after.touched_at,
            after_id=None if after is None else after.chat_id,
            until_at=None if until is None else until.touched_at,
            until_id=None if until is None else until.chat_id,
            limit=limit,
        )
        return [_entry(row) for row in rows]

    async def searched_until(
        self, may: Filter, *, looks_max: int, after: ListPosition | None = None
    ) -> ListPosition | None:
        rows = await self._fetch(
            SEARCHED_UNTIL if after is None else SEARCHED_UNTIL_AFTER,
            actor_id=may[0].user_id,
            after_at=None if after is None else after.touched_at,
            after_id=None if after is None else after.chat_id,
            looks_max=looks_max,
        )
        return ListPosition(rows[0]["touched_at"], ChatId(rows[0]["id"])) if rows else None

    async def find(self, may: Filter, chat_id: ChatId) -> Entry | None:
        return await self._one("find_entry_begin", "entry_end", may, chat_id=chat_id)

    async def update(
        self,
        may: Filter,
        chat_id: ChatId,
        patch: ChatPatch,
        *,
        pins_max: int,
        pairs_max: int,
        expected: Collection[int] | None = None,
    ) -> Entry | None:
        title = None if patch.title in (None, UNCHANGED) else escape(str(patch.title))
        return await self._one(
            "update_begin",
            "changed_entry_end",
            may,
            chat_id=chat_id,
            expected=None if expected is None else list(expected),
            sets_title=patch.title is not UNCHANGED,
            title=title,
            pinned=patch.pinned,
            pins_max=pins_max,
            labels=None if patch.labels is None else [escape(each) for each in patch.labels],
            clears_metadata=patch.metadata is None,
            metadata=None
            if patch.metadata is UNCHANGED
            else metadata_to_json(patch.metadata or {}),
            pairs_max=pairs_max,
        )

    async def mark_read(self, may: Filter, chat_id: ChatId, seq: Seq) -> Seq | None:
        row = await fetch_row(
            self._pool,
            filtered(TargetKind.CHAT, may[1], "mark_read_begin", "mark_read_end"),
            **actor_parameters(may),
            chat_id=chat_id,
            seq=max(0, min(seq, SEQ_MAX)),
        )
        return None if row is None else Seq(row["seq"])

    async def share(
        self, may: Filter, chat_id: ChatId, with_user: UserId, audit: AuditEntry
    ) -> bool:
        return await self._shared("share", may, chat_id, with_user, audit)

    async def unshare(
        self, may: Filter, chat_id: ChatId, with_user: UserId, audit: AuditEntry
    ) -> bool:
        return await self._shared("unshare", may, chat_id, with_user, audit)

    async def shares(self, may: Filter, chat_id: ChatId) -> Sequence[Share]:
        rows = await fetch_rows(
            self._pool,
            filtered(TargetKind.CHAT, may[1], "shares_begin", "shares_end"),
            **actor_parameters(may),
            chat_id=chat_id,
        )
        return [
            Share(
                UserId(row["id"]),
                unescape(row["name"]),
                None if row["email"] is None else unescape(row["email"]),
            )
            for row in rows
        ]

    async def reached(self) -> Mark:
        row = await fetch_row(self._pool, NOW)
        assert row is not None
        return Mark(row["reached"])

    async def changes(self, may: Filter, since: Mark, *, limit: int) -> ListChanges:
        rows = await self._fetch(
            filtered(TargetKind.CHAT, may[1], "watch_begin", "watch_end"),
            **actor_parameters(may),
            since=min(since, VERSION_MAX),
            limit=limit + 1,
        )
        changed = [row for row in rows if row["changed_id"] is not None]
        return ListChanges(
            reached=Mark(rows[0]["reached"]),
            entries=tuple(_entry(row) for row in changed if row["id"] is not None),
            gone=tuple(ChatId(row["changed_id"]) for row in changed if row["id"] is None),
            complete=len(changed) <= limit,
        )

    async def changed_for(self, since: Mapping[UserId, Mark]) -> tuple[Mark, frozenset[UserId]]:
        row = await fetch_row(self._pool, POLL, user_ids=list(since), sinces=list(since.values()))
        assert row is not None
        return Mark(row["reached"]), frozenset(UserId(each) for each in row["user_ids"])

    async def _fetch(self, query: Query, **parameters: object) -> list[Any]:
        try:
            return await fetch_rows_within(self._within_s, self._pool, query, **parameters)
        except TooSlow:
            self.too_slow += 1
            raise

    async def _one(self, begin: str, end: str, may: Filter, **values: object) -> Entry | None:
        query = filtered(TargetKind.CHAT, may[1], begin, end)
        row = await fetch_row(self._pool, query, **actor_parameters(may), **values)
        return None if row is None else _entry(row)

    async def _shared(
        self, verb: str, may: Filter, chat_id: ChatId, with_user: UserId, audit: AuditEntry
    ) -> bool:
        row = await fetch_row(
            self._pool,
            audited_if(TargetKind.CHAT, may[1], f"{verb}_begin", f"{verb}_end"),
            **actor_parameters(may),
            **audit_parameters(audit),
            chat_id=chat_id,
            with_user=with_user,
        )
        return row is not None


def _conditions(may: Filter, wanted: ListFilter) -> tuple[Condition, ...]:
    """The branches of the rule that can give what is wanted."""
    only = {"own": Condition.OWNER, "shared": Condition.SHARED}
    conditions = may[1].any_of
    if wanted.whose is not None:
        conditions = tuple(c for c in conditions if c is only[wanted.whose])
    return conditions


def _entry(row: RowLike) -> Entry:
    """A list shows a chat in a status that this version does not know as one at rest: one such row
    must not hide the others. Opening it says why it cannot be used."""
    status, needs = row["status"], row["needs"]
    return Entry(
        chat_id=ChatId(row["id"]),
        org_id=OrgId(row["org_id"]),
        owner_id=UserId(row["owner_id"]),
        title=_text(row["title"]),
        title_source=row["title_source"],
        turn_label=_text(row["turn_label"]),
        summary=_text(row["summary"]),
        status=Status(status) if status in _STATUSES else Status.IDLE,
        archived=row["archived"],
        pinned=row["pinned"],
        labels=tuple(unescape(label) for label in row["labels"]),
        metadata={} if row["metadata"] == "{}" else decode_json(row["metadata"]),
        version=Version(row["version"]),
        history_version=Version(row["history_version"]),
        listed=row["listed"],
        last_seq=Seq(row["last_seq"]),
        read_seq=Seq(row["read_seq"]),
        queue_length=row["queue_length"],
        touched_at=row["touched_at"],
        created_at=row["created_at"],
        needs=Need(needs) if needs in _NEEDS else None,
    )


def _text(stored: str | None) -> str | None:
    return None if stored is None else unescape(stored)
