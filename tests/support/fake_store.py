"""The store in memory: small, because decisions are not in SQL; trusted, because it passes the
contract suite of the real one (tests/contract)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from holdfast.domain.chat import Chat, Facts, LostWorkers, Status
from holdfast.domain.driving import begun_by_acquiring
from holdfast.domain.fence import Fence
from holdfast.domain.heads import stored_bytes
from holdfast.domain.ids import (
    ChatId,
    ClientKey,
    Epoch,
    QueuedId,
    Seq,
    UserId,
    Version,
    VersionStamp,
    WorkerId,
    differ,
)
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.outcome import Answer, Appended, ForkedHistory, Outcome
from holdfast.domain.prefix import PromptPrefix
from holdfast.ports.clock import Clock
from holdfast.ports.history import PAGE_BYTES_MAX, Changes, Head, HistoryPage, OlderPath
from holdfast.ports.leases import Acquired, Suspect, Unreadable
from holdfast.ports.store import (
    JUST_THE_CHAT,
    Created,
    IdempotencyKey,
    Loaded,
    LoadQuery,
    Receipt,
    Stamp,
)
from tests.support.disabled import StopsDisabled
from tests.support.fake_rows import (
    Record,
    forgive,
    origin_of,
    past_of,
    renumbered,
    taken_of,
    target_of,
    within,
)
from tests.support.fake_versions import versions_of
from tests.support.suspects import is_asked_for, is_suspect

INTERRUPTS_MAX = 16


class FakeStore(StopsDisabled):
    """Store, History and Leases at once, on a clock that the test holds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: dict[ChatId, Record] = {}
        self._prefixes: dict[str, str] = {}
        self._leases: dict[WorkerId, datetime] = {}
        self._ticks = 0
        self.disabled: set[UserId] = set()

    # Store.

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        record = self._records.get(chat_id)
        if record is None:
            return None
        facts = Facts(
            chat=record.chat,
            target=target_of(record, asking.target),
            past=past_of(record, asking.past),
            origin=origin_of(record, asking.origin),
        )
        return Loaded(facts, None if asking.key is None else record.receipts.get(asking.key))

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        chat = outcome.chat
        if keyed is not None and await self.find_created(chat.owner_id, keyed.key) is not None:
            return None
        if outcome.taker is not None and not self._is_alive(outcome.taker):
            return None
        created_by = None if keyed is None else (keyed.key, Receipt(keyed.digest, outcome.answer))
        record = self._records[chat.chat_id] = Record(outcome.before, created_by=created_by)
        return self._apply(record, outcome)

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        for record in self._records.values():
            made = record.created_by
            if record.chat.owner_id == owner_id and made is not None and made[0] == key:
                return Created(record.chat.chat_id, made[1])
        return None

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        record = self._records.get(outcome.before.chat_id)
        before = outcome.before
        if record is None or (record.chat.version, record.chat.stamp) != (
            before.version,
            before.stamp,
        ):
            return None
        owner = (record.chat.worker_id, record.chat.epoch)
        if fence is not None and owner != (fence.worker_id, fence.epoch):
            return None
        if outcome.taker is not None and not (
            record.chat.worker_id is None and self._is_alive(outcome.taker)
        ):
            return None
        if keyed is not None:
            if keyed.key in record.receipts:
                return None
            record.receipts[keyed.key] = Receipt(keyed.digest, outcome.answer)
        return self._apply(record, outcome)

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        record = self._records.get(chat_id)
        if record is None or keyed.key in record.receipts:
            return False
        if (record.chat.version, record.chat.stamp) != (answer.version, stamp):
            return False
        record.receipts[keyed.key] = Receipt(keyed.digest, answer)
        return True

    def _apply(self, record: Record, outcome: Outcome) -> Stamp:
        chat, taken = outcome.chat, outcome.taker is not None
        for rider in outcome.riders:
            if isinstance(rider, PromptPrefix):
                self._prefixes[rider.digest] = rider.content
        promoted = outcome.promoted
        parts = () if promoted is None else record.queued[_promoted_id(promoted)].parts
        stamp = Stamp(Epoch(record.chat.epoch + taken), self._clock.now(), parts)
        if outcome.hidden_from is not None:
            self._hide(record, outcome.hidden_from, chat.version)
        if outcome.restored is not None:
            self._copy(record, outcome, stamp)
        if outcome.forked is not None:
            record.messages += self._taken(outcome.forked, chat, stamp)
        record.messages += [
            Message(
                seq=appended.seq,
                body=appended.body
                if appended.promoted is None
                else record.queued[appended.promoted],
                revision=chat.version,
                epoch=stamp.epoch,
                created_at=stamp.at,
                turn_seq=appended.turn_seq,
                queued_id=appended.promoted,
                attempt=appended.attempt,
                stamp=chat.history_stamp,
            )
            for appended in outcome.appended
        ]
        record.histories[chat.history_version] = chat.history_stamp
        record.promoted |= {left.queued_id for left in outcome.left if left.seq is not None}
        record.queued |= {queued.entry.queued_id: queued.body for queued in outcome.queued}
        worker_id = None if outcome.releases else outcome.taker or record.chat.worker_id
        same_history = chat.history_version == record.chat.history_version
        keeps_lost = same_history and not (taken or outcome.releases)
        lost = record.chat.lost if keeps_lost else None
        record.chat = replace(chat, worker_id=worker_id, epoch=stamp.epoch, lost=lost)
        record.set_aside, record.takeovers = False, 0 if taken else record.takeovers
        if chat.status not in {Status.RUNNING, Status.INTERRUPTING}:
            record.runnable_since = None
        elif record.runnable_since is None:
            self._ticks += 1
            record.runnable_since = self._ticks
        return stamp

    def _hide(self, record: Record, first: Seq, version: Version) -> None:
        record.messages = [
            replace(m, removed_revision=version)
            if m.seq >= first and m.removed_revision is None
            else m
            for m in record.messages
        ]

    def _taken(self, taken: ForkedHistory, chat: Chat, stamp: Stamp) -> list[Message]:
        path = taken_of(self._records[taken.chat_id], taken.version, taken.upto)
        began = [number for number, m in enumerate(path, start=1) if m.body.role is Role.USER]
        return [
            replace(
                message,
                seq=Seq(number),
                body=replace(message.body, usage=None, cost_micros=None, client_key=None),
                turn_seq=max((Seq(n) for n in began if n <= number), default=None),
                queued_id=None,
                revision=chat.version,
                epoch=stamp.epoch,
                removed_revision=None,
                copied_from=None,
                stamp=chat.history_stamp,
            )
            for number, message in enumerate(path, start=1)
        ]

    def _copy(self, record: Record, outcome: Outcome, stamp: Stamp) -> None:
        past = outcome.restored
        assert past is not None
        copies = [m for m in record.as_of(past.version) if m.seq > past.shared_seq]
        before = outcome.before.last_seq
        numbers = {m.seq: Seq(before + number) for number, m in enumerate(copies, start=1)}
        for number, original in enumerate(copies, start=1):
            record.messages.append(
                Message(
                    seq=Seq(before + number),
                    body=replace(original.body, usage=None, cost_micros=None, client_key=None),
                    revision=outcome.chat.version,
                    epoch=stamp.epoch,
                    created_at=stamp.at,
                    turn_seq=renumbered(original.turn_seq, numbers),
                    attempt=original.attempt,
                    copied_from=original.copied_from or original.seq,
                    stamp=outcome.chat.history_stamp,
                )
            )

    # History.

    async def page(
        self,
        chat_id: ChatId,
        *,
        limit: int,
        before: Seq | None = None,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> HistoryPage:
        record = self._records.get(chat_id)
        known = [] if record is None else record.as_of(as_of)
        history = [m for m in known if before is None or m.seq < before]
        met = history[-limit:]
        messages = within(met[::-1], bytes_max)[::-1]
        more = len(messages) < len(met) or (len(messages) == limit and messages[0].seq > 1)
        return HistoryPage(tuple(messages), messages[0].seq if more else None)

    async def changes_since(
        self,
        chat_id: ChatId,
        version: Version,
        *,
        limit: int,
        as_of: Version | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> Changes | None:
        record = self._records.get(chat_id)
        if record is None:
            return None
        hidden = [
            m.seq
            for m in record.messages
            if m.revision <= version < (m.removed_revision or 0)
            and (as_of is None or (m.removed_revision or 0) <= as_of)
        ]
        met = [m for m in record.as_of(as_of) if m.revision > version][:limit]
        written = within(met, bytes_max)
        return Changes(
            version=record.chat.version if as_of is None else min(record.chat.version, as_of),
            history_version=record.chat.history_version,
            hidden_from=min(hidden, default=None),
            written=tuple(written),
            complete=len(written) == len(met) < limit,
            history_stamp=record.history_stamp_at(version),
        )

    async def prompt_prefix(self, digest: str) -> str | None:
        return self._prefixes.get(digest)

    async def prompt_bytes(self, chat_id: ChatId, *, as_of: Version) -> int:
        sizes: list[int] = []
        for message in reversed(self._records[chat_id].as_of(as_of)):
            sizes.append(stored_bytes(message.body.parts))
            if message.body.role is Role.BOUNDARY:
                break
        return sum(sizes)

    async def moved(
        self, known: Mapping[ChatId, tuple[Version, VersionStamp]]
    ) -> Sequence[tuple[ChatId, Version | None]]:
        found = {i: self._records[i].chat for i in known if i in self._records}
        gone: list[tuple[ChatId, Version | None]] = [(i, None) for i in known if i not in found]
        return gone + [
            (i, chat.version)
            for i, chat in found.items()
            if chat.version != known[i][0] or differ(chat.stamp, known[i][1])
        ]

    async def heads(self, chat_ids: Sequence[ChatId]) -> Sequence[Head]:
        chats = [self._records[chat_id].chat for chat_id in chat_ids if chat_id in self._records]
        return [
            Head(
                chat_id=chat.chat_id,
                version=chat.version,
                history_version=chat.history_version,
                status=chat.status,
                worker_id=chat.worker_id,
                epoch=chat.epoch,
            )
            for chat in chats
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
        record = self._records.get(chat_id)
        known = [] if record is None else record.as_of(as_of)
        return within([m for m in known if m.seq > after][:limit], bytes_max)

    async def older_paths(
        self, chat_id: ChatId, *, limit: int, before: Version | None = None
    ) -> Sequence[OlderPath]:
        found = versions_of(self._records[chat_id].messages)
        return [path for path in found if before is None or path.version < before][:limit]

    async def queued(self, chat_id: ChatId, queued_id: QueuedId) -> MessageBody | None:
        return self._records[chat_id].queued.get(queued_id)

    # Leases.

    async def join(self, worker_id: WorkerId, *, name: str, ttl: timedelta) -> None:
        self._leases[worker_id] = self._clock.now() + ttl

    async def heartbeat(self, worker_id: WorkerId, *, ttl: timedelta) -> datetime | None:
        if not self._is_alive(worker_id):
            return None
        self._leases[worker_id] = self._clock.now() + ttl
        return self._leases[worker_id]

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        ring_start: UUID,
        alone_from: int | None = None,
        only: Sequence[ChatId] | None = None,
    ) -> Acquired:
        if not self._is_alive(worker_id):
            return Acquired()
        driven: dict[UserId, int] = {}
        for record in self._records.values():
            if record.chat.worker_id is not None:
                driven[record.chat.owner_id] = driven.get(record.chat.owner_id, 0) + 1
        ranked: list[tuple[int, int, ChatId]] = []
        interrupts: list[ChatId] = []
        suspects: list[Suspect] = []
        for record in sorted(self._records.values(), key=lambda r: r.runnable_since or 0):
            owner = record.chat.owner_id
            if record.runnable_since is None or self._is_alive(record.chat.worker_id):
                continue
            if record.set_aside or not is_asked_for(record.chat, only):
                continue
            if is_suspect(record.chat, record.takeovers, alone_from):
                suspects.append(Suspect(record.chat.chat_id, record.takeovers + 1))
                continue
            if record.chat.status is Status.INTERRUPTING and only is None:
                interrupts.append(record.chat.chat_id)
            if record.chat.worker_id is not None:
                ranked.append((0, record.runnable_since, record.chat.chat_id))
                continue
            driven[owner] = driven.get(owner, 0) + 1
            ranked.append((driven[owner], record.runnable_since, record.chat.chat_id))
        taken = {chat_id for *_, chat_id in sorted(ranked)[:limit]} | set(
            interrupts[:INTERRUPTS_MAX]
        )
        chats = [self._own(self._records[chat_id], worker_id) for chat_id in taken]
        return Acquired(chats, suspects=suspects)

    def _own(self, record: Record, worker_id: WorkerId) -> Chat:
        chat = record.chat
        begun = 1 if begun_by_acquiring(chat) else 0
        record.takeovers = 0 if chat.worker_id is None else record.takeovers + 1
        record.chat = replace(
            chat,
            worker_id=worker_id,
            epoch=Epoch(chat.epoch + 1),
            attempt=chat.attempt + begun,
            version=Version(chat.version + begun),
            lost=chat.lost if chat.worker_id is None else self._lost(chat, chat.worker_id),
        )
        return record.chat

    def _lost(self, chat: Chat, worker_id: WorkerId) -> LostWorkers:
        before = chat.lost
        return LostWorkers(
            workers=1 if before is None else before.workers + 1,
            since=self._leases[worker_id] if before is None else before.since,
            until=self._clock.now(),
        )

    async def release(
        self,
        worker_id: WorkerId,
        chat_ids: Sequence[ChatId],
        *,
        undriven: Sequence[ChatId] = (),
    ) -> Sequence[ChatId]:
        held = [i for i in chat_ids if self._records[i].chat.worker_id == worker_id]
        for chat_id in held:
            record = self._records[chat_id]
            if chat_id in undriven:
                forgive(record)
            record.chat = replace(record.chat, worker_id=None)
        return held

    async def set_aside(
        self, worker_id: WorkerId, unreadable: Sequence[Unreadable]
    ) -> Sequence[ChatId]:
        found = [self._records[each.chat_id] for each in unreadable]
        found = [record for record in found if record.chat.worker_id in {None, worker_id}]
        for record in found:
            if record.chat.worker_id is not None:
                forgive(record)
            record.chat = replace(record.chat, worker_id=None)
            record.set_aside = True
        return [record.chat.chat_id for record in found]

    async def release_all_but(
        self, worker_id: WorkerId, kept: Sequence[ChatId]
    ) -> Sequence[ChatId]:
        rest = [i for i in self._records if i not in kept]
        return await self.release(worker_id, rest, undriven=rest)

    async def leave(self, worker_id: WorkerId) -> Sequence[ChatId]:
        self._leases[worker_id] = min(self._leases[worker_id], self._clock.now())
        return await self.release(worker_id, list(self._records))

    async def forget(self, *, lapsed_for: timedelta) -> Sequence[WorkerId]:
        held = {record.chat.worker_id for record in self._records.values()}
        gone = [
            worker_id
            for worker_id, until in self._leases.items()
            if until < self._clock.now() - lapsed_for and worker_id not in held
        ]
        for worker_id in gone:
            del self._leases[worker_id]
        return gone

    async def expired_awaits(self, *, limit: int) -> Sequence[ChatId]:
        waits = [
            (record.chat.awaiting.deadline, chat_id)
            for chat_id, record in self._records.items()
            if record.chat.awaiting is not None
            and record.chat.awaiting.deadline is not None
            and not record.set_aside
        ]
        return [chat_id for until, chat_id in sorted(waits) if until <= self._clock.now()][:limit]

    # What only tests do.

    async def everything(self, chat_id: ChatId) -> tuple[list[str], list[str]]:
        record = self._records[chat_id]
        said = [
            str(getattr(m.body.parts[0], "text", ""))
            for m in record.messages
            if m.body.role is Role.USER and m.copied_from is None
        ]
        waiting = [
            str(getattr(queued.parts[0], "text", ""))
            for queued_id, queued in record.queued.items()
            if queued_id not in record.promoted
        ]
        return said, waiting

    async def clear(self, chat_ids: Sequence[ChatId]) -> None:
        for chat_id in chat_ids:
            del self._records[chat_id]

    def lapse(self, worker_id: WorkerId) -> None:
        self._leases[worker_id] = self._clock.now() - timedelta(seconds=1)

    def _is_alive(self, worker_id: WorkerId | None) -> bool:
        until = None if worker_id is None else self._leases.get(worker_id)
        return until is not None and until > self._clock.now()


def _promoted_id(appended: Appended) -> QueuedId:
    assert appended.promoted is not None
    return appended.promoted
