"""Facts in, outcomes out: each commit is one statement, compare and set.

In a crowd several of them share a transaction (`lanes`). A statement that locks several chats does
so in the order of their ids, here and in leases.sql: else two of them could wait for one another.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

import asyncpg

from holdfast.adapters.postgres.coalesce import Coalescer
from holdfast.adapters.postgres.codec import escape
from holdfast.adapters.postgres.commits import commit_query, form_of, written_parameters
from holdfast.adapters.postgres.faults import DATABASE_ERRORS, is_undone, unavailable
from holdfast.adapters.postgres.group_commit import BatchPolicy, GroupCommit, GroupCommitCounters
from holdfast.adapters.postgres.numbers import SEQ_MAX, VERSION_MAX, within
from holdfast.adapters.postgres.pool import WAIT_S, Connection, Pool, persons_place
from holdfast.adapters.postgres.queries import Query, load_query
from holdfast.adapters.postgres.quota import BytesQuota
from holdfast.adapters.postgres.riders import ride_alone
from holdfast.adapters.postgres.rows import (
    RowLike,
    chat_from_row,
    escaped,
    facts_parameters,
    listed_parameters,
    messages_parameters,
    origin_from_row,
    past_from_row,
    promoted_from_row,
    refusing_unknown,
    tools_to_json,
)
from holdfast.domain.chat import Chat, Facts, Origin, Past, Target
from holdfast.domain.errors import TooManyBytes, TooManyChats, TooSlow
from holdfast.domain.fence import Fence
from holdfast.domain.ids import (
    ChatId,
    ClientKey,
    Epoch,
    Seq,
    UserId,
    Version,
    VersionStamp,
)
from holdfast.domain.messages import Role
from holdfast.domain.outcome import Answer, ForkedHistory, Outcome
from holdfast.domain.parts import Part
from holdfast.ports.generation import NoSettings, SettingsGeneration
from holdfast.ports.store import (
    JUST_THE_CHAT,
    Created,
    IdempotencyKey,
    Loaded,
    LoadQuery,
    Receipt,
    Stamp,
    Upto,
)

LOAD: Final = load_query("load_begin", "load_one_end")
LOAD_MANY: Final = load_query("load_begin", "load_many_end")
LOAD_TARGET: Final = load_query("load_begin", "load_target_columns", "load_target_end")
LOAD_PAST: Final = load_query("load_past")
LOAD_ORIGIN: Final = load_query("load_origin")
CREATE: Final = load_query("create_chat_begin", "create_messages_end")
FORK: Final = load_query("create_chat_begin", "fork_messages_end")
STORED_BYTES: Final = load_query("stored_bytes")
FIND_CREATED: Final = load_query("find_created")
KEEP_RECEIPT: Final = load_query("keep_receipt")
RECEIPTS_KEY: Final = re.compile(r"receipts_\d+_pkey")
"""Each partition has a primary key of its own, which an error names."""
NO_RECEIPT: Final[dict[str, Any]] = dict.fromkeys(
    ("client_key", "digest", "answer_turn_seq", "answer_seq", "answer_queued_id")
)


@dataclass(frozen=True, slots=True)
class _LoadRequest:
    chat_id: ChatId
    asking: LoadQuery

    @property
    def client_key(self) -> str | None:
        return None if self.asking.key is None else escape(self.asking.key)


@dataclass(frozen=True, slots=True)
class CommitStatement:
    chat_id: ChatId
    query: Query
    values: list[object]
    is_keyed: bool


class PostgresStore:
    """The store on PostgreSQL. Holds no state but the pool, and who asks at this moment."""

    def __init__(
        self,
        pool: Pool,
        *,
        wait_s: float = WAIT_S,
        chats_max: int = 0,
        bytes_max: int = 0,
        settings: SettingsGeneration | None = None,
    ) -> None:
        """`chats_max`, `bytes_max`: of one owner; 0: no bound."""
        self._pool = pool
        self._settings = settings or NoSettings()
        self._chats_max = chats_max
        self._bytes = BytesQuota(self._count_bytes, bytes_max)
        self.chats_refused = 0
        self.storage_refused = 0
        self._loads = Coalescer(self._load_one, self._load_many)
        self._commits = GroupCommit(pool.acquire, _commit_one, _commit_many, BATCHES, wait_s=wait_s)

    @property
    def commits(self) -> GroupCommitCounters:
        return self._commits.counters

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        wanted = _LoadRequest(chat_id, asking)
        target = within(asking.target, SEQ_MAX)
        if target is None:
            row = await self._loads.ask(wanted)
        else:
            row = await self._load_target(wanted, target)
        if row is None:
            return None
        self._settings.saw(row["generation"])
        chat = chat_from_row(row)
        facts = Facts(
            chat=chat,
            target=None if target is None else _target(target, row),
            past=await self._load_past(chat_id, within(asking.past, VERSION_MAX)),
            origin=await self._load_origin(chat, asking.origin),
        )
        return Loaded(facts, _receipt(row))

    async def _load_one(self, wanted: "_LoadRequest") -> RowLike | None:
        return await _fetch_shared_row(
            self._pool,
            LOAD,
            chat_id=wanted.chat_id,
            client_key=wanted.client_key,
        )

    async def _load_target(self, wanted: "_LoadRequest", target: Seq) -> RowLike | None:
        return await fetch_row(
            self._pool,
            LOAD_TARGET,
            chat_id=wanted.chat_id,
            target=target,
            client_key=wanted.client_key,
        )

    async def _load_many(self, wanted: Sequence["_LoadRequest"]) -> list[RowLike | None]:
        rows = await _fetch_shared_rows(
            self._pool,
            LOAD_MANY,
            chat_ids=[each.chat_id for each in wanted],
            client_keys=[each.client_key for each in wanted],
        )
        found: list[RowLike | None] = [None] * len(wanted)
        for row in rows:
            found[row["place"] - 1] = row
        return found

    async def _load_past(self, chat_id: ChatId, version: Version | None) -> Past | None:
        if version is None:
            return None
        row = await fetch_row(self._pool, LOAD_PAST, chat_id=chat_id, version=version)
        return None if row is None else past_from_row(version, row)

    async def _load_origin(self, chat: Chat, wanted: Upto | None) -> Origin | None:
        if wanted is None:
            return None
        version = chat.version if wanted.as_of is None else wanted.as_of
        if not 1 <= version <= chat.version:
            return None
        upto = SEQ_MAX if wanted.at is None else min(wanted.at, SEQ_MAX)
        row = await fetch_row(
            self._pool, LOAD_ORIGIN, chat_id=chat.chat_id, version=version, upto=upto
        )
        return None if row is None else origin_from_row(chat, version, row)

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        chat, forked = outcome.chat, outcome.forked
        assert forked is None or not outcome.appended, "a fork says nothing of its own"
        assert not outcome.riders, "riders ride on commits"
        said = messages_parameters(outcome.appended) if forked is None else _taken(forked)
        added = bytes_added(outcome, said)
        repeats = partial(self._was_created, chat.owner_id, keyed)
        if added and not await self._has_room(chat.owner_id, added, repeats):
            return None
        row = await fetch_row(
            self._pool,
            CREATE if forked is None else FORK,
            chat_id=chat.chat_id,
            org_id=chat.org_id,
            owner_id=chat.owner_id,
            taker=outcome.taker,
            tools=tools_to_json(chat.tools),
            **listed_parameters(outcome.listed),
            first_words=escaped(outcome.first_words),
            titled_as=None if forked is None else forked.chat_id,
            client_key=None if keyed is None else escape(keyed.key),
            digest=None if keyed is None else keyed.digest,
            chats_max=self._chats_max,
            bytes_added=added,
            **facts_parameters(chat),
            **said,
        )
        if row is None:
            return None
        if not row["is_full"]:
            self._bytes.add(chat.owner_id, added)
            self._settings.saw(row["generation"])
            return _stamp(row)
        if await self._was_created(chat.owner_id, keyed):
            return None
        self.chats_refused += 1
        raise TooManyChats(self._chats_max)

    async def _was_created(self, owner_id: UserId, keyed: IdempotencyKey | None) -> bool:
        """Whether a create that a quota refuses is a repeat, which makes no further chat."""
        return keyed is not None and await self.find_created(owner_id, keyed.key) is not None

    async def _has_room(
        self, owner_id: UserId, added: int, repeats: Callable[[], Awaitable[bool]]
    ) -> bool:
        """False: there is none, but a repeat needs none. Raises `TooManyBytes`."""
        if await self._bytes.has_room(owner_id, added):
            return True
        if await repeats():
            return False
        self.storage_refused += 1
        raise TooManyBytes(self._bytes.bytes_max)

    async def _count_bytes(self, owner_id: UserId) -> int:
        row = await fetch_row(self._pool, STORED_BYTES, owner_id=owner_id)
        assert row is not None, "a sum is one row"
        return row["bytes"]

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        row = await fetch_row(self._pool, FIND_CREATED, owner_id=owner_id, client_key=escape(key))
        if row is None:
            return None
        seq = row["seq"]
        answer = Answer(version=Version(1), turn_seq=seq, seq=seq)
        return Created(ChatId(row["id"]), Receipt(row["digest"], answer))

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        before, chat = outcome.before, outcome.chat
        begins = fence is not None and _begins_attempt(outcome)
        form = form_of(outcome)
        written = written_parameters(form, outcome)
        added = bytes_added(outcome, written)
        parameters: dict[str, Any] = {
            "chat_id": before.chat_id,
            "expected_version": before.version,
            "expected_stamp": before.stamp,
            "fence_worker": None if fence is None else fence.worker_id,
            "fence_epoch": None if fence is None else fence.epoch,
            "begins_under": self._settings.applied if begins else None,
            "releases": outcome.releases,
            "taker": outcome.taker,
            "touches": fence is None and _speaks(outcome),
            "lists": outcome.lists,
            "first_words": escaped(outcome.first_words),
            "tools": None if chat.tools == before.tools else tools_to_json(chat.tools),
            "bytes_added": added,
            **facts_parameters(chat),
            **(NO_RECEIPT if keyed is None else _receipt_parameters(keyed, outcome.answer)),
            **written,
        }
        if added and fence is None and _asks_for_room(outcome):
            repeats = partial(self._has_receipt, before.chat_id, keyed)
            if not await self._has_room(before.owner_id, added, repeats):
                return None
        query = commit_query(form)
        commit = CommitStatement(before.chat_id, query, query.values(parameters), keyed is not None)
        try:
            if not ride_alone(outcome.riders):
                row = await self._commits.ask(commit)
            else:
                async with self._pool.acquire() as connection:
                    row = await _commit_one(connection, commit)
        except asyncpg.UniqueViolationError as error:
            # A decision without a load could not know of the receipt.
            if keyed is None or not RECEIPTS_KEY.fullmatch(error.constraint_name or ""):
                raise
            return None
        except DATABASE_ERRORS as error:
            raise unavailable(error) from error
        if row is None:
            if begins:  # the settings of this process may be the reason: then the next try may pass
                await self._settings.refresh()
            return None
        self._settings.saw(row["generation"])
        self._bytes.add(before.owner_id, added)
        return _stamp(row, promoted_from_row(row) if outcome.promoted else ())

    async def _has_receipt(self, chat_id: ChatId, keyed: IdempotencyKey | None) -> bool:
        if keyed is None:
            return False
        loaded = await self.load(chat_id, LoadQuery(key=keyed.key))
        return loaded is not None and loaded.receipt is not None

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        row = await fetch_row(
            self._pool,
            KEEP_RECEIPT,
            chat_id=chat_id,
            expected_version=answer.version,
            expected_stamp=stamp,
            **_receipt_parameters(keyed, answer),
        )
        return row is not None


async def _commit_one(connection: Connection, commit: CommitStatement) -> RowLike | None:
    return await connection.fetchrow(commit.query.text, *commit.values)


async def _commit_many(
    connection: Connection, commits: Sequence[CommitStatement]
) -> list[RowLike | None]:
    ordered = sorted(commits, key=lambda commit: commit.chat_id)
    rows = await connection.fetchmany(commits[0].query.text, [commit.values for commit in ordered])
    found = {row["id"]: row for row in rows}
    return [found.get(commit.chat_id) for commit in commits]


def _weight(commit: CommitStatement) -> int:
    """Of what it says, which is most of it."""
    return sum(_length(value) for value in commit.values)


def _length(value: object) -> int:
    match value:
        case str() | bytes():
            return len(value)
        case list():
            return sum(map(_length, cast("list[object]", value)))
        case _:
            return 0


BATCHES: Final[BatchPolicy[CommitStatement]] = BatchPolicy(
    # A key that was used before undoes the whole batch: no commit of a runner shares it.
    kind=lambda commit: (commit.query.text, commit.is_keyed),
    subject=lambda commit: commit.chat_id,
    weight=_weight,
    undone=is_undone,
)


async def fetch_row(pool: Pool, query: Query, **parameters: object) -> RowLike | None:
    try:
        async with persons_place(pool):
            return await pool.fetchrow(query.text, *query.values(parameters))
    except DATABASE_ERRORS as error:
        raise unavailable(error) from error


async def fetch_rows(pool: Pool, query: Query, **parameters: object) -> list[Any]:
    try:
        async with persons_place(pool):
            return await pool.fetch(query.text, *query.values(parameters))
    except DATABASE_ERRORS as error:
        raise unavailable(error) from error


async def fetch_rows_within(
    within_s: float, pool: Pool, query: Query, **parameters: object
) -> list[Any]:
    """What may take long, because it looks at many rows. Raises `TooSlow`; the server then ends the
    statement."""
    try:
        async with persons_place(pool), pool.acquire() as connection:
            try:
                return await connection.fetch(
                    query.text, *query.values(parameters), timeout=within_s
                )
            except TimeoutError:
                raise TooSlow(within_s) from None
    except DATABASE_ERRORS as error:
        raise unavailable(error) from error


async def _fetch_shared_row(pool: Pool, query: Query, **parameters: object) -> RowLike | None:
    """Asked for several at once: the others must not wait for a place of the first one."""
    try:
        return await pool.fetchrow(query.text, *query.values(parameters))
    except DATABASE_ERRORS as error:
        raise unavailable(error) from error


async def _fetch_shared_rows(pool: Pool, query: Query, **parameters: object) -> list[Any]:
    try:
        return await pool.fetch(query.text, *query.values(parameters))
    except DATABASE_ERRORS as error:
        raise unavailable(error) from error


def _speaks(outcome: Outcome) -> bool:
    """Whether a person's message was accepted: said at once, or queued."""
    return bool(outcome.queued) or any(
        appended.body.role is Role.USER for appended in outcome.appended
    )


def _begins_attempt(outcome: Outcome) -> bool:
    """Whether a runner's commit begins an attempt: any change of history sets the count to 0."""
    before, chat = outcome.before, outcome.chat
    return chat.attempt > (before.attempt if chat.history == before.history else 0)


def _asks_for_room(outcome: Outcome) -> bool:
    """Whether a person wants to store something. What ends a turn (a Stop, a denial, a deadline)
    and the results of a client's tools are no such wish: the turn must come to its end."""
    said = (each for each in outcome.appended if each.promoted is None)
    return (
        bool(outcome.queued)
        or outcome.restored is not None
        or any(each.body.role is Role.USER for each in said)
    )


def bytes_added(outcome: Outcome, written: Mapping[str, Any]) -> int:
    """How many bytes of messages a commit adds to its chat; `written`: the parameters that write
    them. A promoted message was counted when it was queued, and a copy counts as its original."""
    said: Sequence[str] = written.get("parts", ())
    if (one := written.get("m_parts")) is not None:
        said = [one]
    size = sum(len(parts) if parts.isascii() else len(parts.encode()) for parts in said)
    size += sum(each.entry.bytes for each in outcome.queued)
    size += 0 if outcome.restored is None else outcome.restored.copied_bytes
    return size + (0 if outcome.forked is None else outcome.forked.bytes)


def _taken(forked: ForkedHistory) -> dict[str, Any]:
    return {
        "source_id": forked.chat_id,
        "source_version": forked.version,
        "upto": forked.upto,
    }


def _receipt_parameters(keyed: IdempotencyKey, answer: Answer) -> dict[str, Any]:
    return {
        "client_key": escape(keyed.key),
        "digest": keyed.digest,
        "answer_turn_seq": answer.turn_seq,
        "answer_seq": answer.seq,
        "answer_queued_id": answer.queued_id,
    }


def _stamp(row: RowLike, promoted: tuple[Part, ...] = ()) -> Stamp:
    return Stamp(Epoch(row["epoch"]), row["at"], promoted)


@refusing_unknown
def _target(seq: Seq, row: RowLike) -> Target | None:
    if row["target_role"] is None:
        return None
    return Target(seq=seq, role=Role(row["target_role"]), removed=row["target_removed"])


def _receipt(row: RowLike) -> Receipt | None:
    if row["receipt_digest"] is None:
        return None
    answer = Answer(
        version=Version(row["receipt_version"]),
        turn_seq=row["receipt_turn_seq"],
        seq=row["receipt_seq"],
        queued_id=row["receipt_queued_id"],
    )
    return Receipt(row["receipt_digest"], answer)
