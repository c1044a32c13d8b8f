"""The one door: load the facts, decide, commit if nothing moved meanwhile, then hint.

Where a worker lives in the same process and has room, a commit that makes a chat runnable gives it
to that worker at once, in the same statement; else a worker that hears the hint acquires it.

Nothing is held while Python thinks: no transaction, no row lock. A command that was overtaken is
loaded for and decided again, a bounded number of times.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import UnionType
from typing import Final, assert_never
from weakref import WeakValueDictionary

from holdfast.chats.hints import hint_of
from holdfast.chats.idle_cache import IdleCache
from holdfast.domain.audit import AuditEntry
from holdfast.domain.chat import Chat, Facts
from holdfast.domain.commands import (
    Command,
    Create,
    EditMessage,
    ExpireAwait,
    Fork,
    FromPeople,
    FromWorker,
    Restore,
    SendMessage,
)
from holdfast.domain.decide import decide_all
from holdfast.domain.driving import may_be_taken, taken_by
from holdfast.domain.errors import (
    ChangedMeanwhile,
    ChatBusy,
    ChatNotFound,
    CommandRefused,
    KeyReused,
    OverQuota,
    VersionNotFound,
)
from holdfast.domain.fence import Fence
from holdfast.domain.ids import STAMP_BITS, ChatId, OrgId, UserId, Version, VersionStamp
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Answer, Outcome
from holdfast.ports.bus import Hints
from holdfast.ports.clock import Clock
from holdfast.ports.places import NoWorkerSlots, WorkerSlot, WorkerSlots
from holdfast.ports.store import IdempotencyKey, Loaded, LoadQuery, Receipt, Stamp, Store, Upto

COMMIT_TRIES_MAX: Final = 20
ROUNDS_FIRST: Final = 2
"""Of the loop, before the sender is answered: in these the model is asked."""


@dataclass(frozen=True, slots=True)
class Actor:
    """A person, as whom a command comes."""

    org_id: OrgId
    user_id: UserId


@dataclass(frozen=True, slots=True)
class Sweep:
    """The server itself, tidying up what is past its deadline; drives nothing."""


FROM: Final[Mapping[type[Actor | Fence | Sweep], type | UnionType]] = {
    Actor: FromPeople,
    Fence: FromWorker,
    Sweep: ExpireAwait,
}
"""Who may ask what: an unfenced step or a fenced send is a mistake of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What became of a bundle of commands.

    `repeated`: an earlier request with the same key did it; `answer` is what that one was told.
    """

    chat: Chat
    answer: Answer
    messages: tuple[Message, ...] = ()
    repeated: bool = False


class Ledger:
    def __init__(
        self,
        store: Store,
        hints: Hints,
        clock: Clock,
        places: WorkerSlots | None = None,
        resting: IdleCache | None = None,
        random_bits: Callable[[int], int] = secrets.randbits,
    ) -> None:
        """`random_bits`: so many random bits, for the stamps of commits."""
        self._store = store
        self._hints = hints
        self._clock = clock
        self._places = places or NoWorkerSlots()
        self._resting = IdleCache(chats_max=0) if resting is None else resting
        self._random_bits = random_bits
        self._turns: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()

    async def create(
        self, chat: Chat, command: Create, *, keyed: IdempotencyKey | None = None
    ) -> Commit:
        """Bring a chat into being; with a key that its owner used before, find that chat."""
        return await self._create(Facts(chat=chat), command, keyed)

    async def fork(
        self, chat: Chat, source: ChatId, command: Fork, *, keyed: IdempotencyKey | None = None
    ) -> Commit:
        """Bring a chat into being that begins with the history of another.

        Does not ask whether its owner may read that one: the caller has asked. What is
        copied is fixed by the version that was loaded, whatever happens there meanwhile.
        """
        # First, for a repeat must be answered even if the source says no by now.
        if keyed is not None and (commit := await self._created_before(chat.owner_id, keyed)):
            return commit
        asking = LoadQuery(origin=Upto(command.at, command.as_of))
        loaded = (await self._load(source, asking)).facts
        if loaded.origin is None:
            reason = f"no history as of version {command.as_of}"
            raise VersionNotFound(source, loaded.chat.standing, "Fork", reason)
        return await self._create(Facts(chat=chat, origin=loaded.origin), command, keyed)

    async def _create(
        self, facts: Facts, command: Create | Fork, keyed: IdempotencyKey | None
    ) -> Commit:
        outcome = self._stamped(decide_all(facts, (command,), self._clock.now()))
        create = self._store.create
        if (place := self._place(outcome)) is not None and (
            commit := await self._take(outcome, place, lambda taken: create(taken, keyed))
        ):
            return commit
        stamp = await create(outcome, keyed)
        if stamp is not None:
            return await self._tell(outcome, stamp, by_owner=False)
        assert keyed is not None, "only a key makes a chat exist already"
        commit = await self._created_before(facts.chat.owner_id, keyed)
        if commit is None:
            raise ChatBusy(facts.chat.chat_id, 1)  # made and deleted between two statements
        return commit

    async def _created_before(self, owner_id: UserId, keyed: IdempotencyKey) -> Commit | None:
        created = await self._store.find_created(owner_id, keyed.key)
        if created is None:
            return None
        _check_same_request(keyed, created.receipt)
        loaded = await self._load(created.chat_id, LoadQuery())
        return Commit(chat=loaded.facts.chat, answer=created.receipt.answer, repeated=True)

    async def transact(
        self,
        chat_id: ChatId,
        *commands: Command,
        by: Actor | Fence | Sweep,
        keyed: IdempotencyKey | None = None,
        snapshot: Chat | None = None,
        expected: Collection[Version] | None = None,
        audit: AuditEntry | None = None,
    ) -> Commit:
        """Commit a bundle of commands as one version, or raise why not.

        `expected`: `ChangedMeanwhile` if the history is of none of these versions; the commit
        compares what was compared here.

        `audit`: what the audit log is told if, and only if, this changes the chat.

        People command as themselves, a runner under its fence, and only the sweep expires.
        A runner passes the snapshot it holds, which saves the load while no other commit comes.
        """
        speaker = FROM[type(by)]
        assert all(isinstance(command, speaker) for command in commands), f"not for {by} to ask"
        if snapshot is not None and (
            commit := await self._try(
                Loaded(Facts(chat=snapshot)), commands, by, keyed, None, audit
            )
        ):
            return commit
        take = isinstance(by, Actor)
        if (
            take
            and expected is None
            and all(isinstance(command, SendMessage) for command in commands)
            and (rests := self._resting.recall(chat_id)) is not None
        ):
            # What is refused here may be lawful by now: after a load it is decided again.
            with suppress(CommandRefused):
                facts = Loaded(Facts(chat=rests))
                if commit := await self._try(facts, commands, by, keyed, None, audit, take=take):
                    return commit
        asking = _asking(commands, keyed)

        async def again(*, take: bool = False) -> Commit | None:
            loaded = await self._load(chat_id, asking)
            return await self._try(loaded, commands, by, keyed, expected, audit, take=take)

        if commit := await again(take=take):
            return commit
        # Overtaken. From here on the contenders in this process go one at a time: without that,
        # n of them would need n² tries between them.
        async with self._turns.setdefault(chat_id, asyncio.Lock()):
            for _ in range(COMMIT_TRIES_MAX):
                if commit := await again():
                    return commit
        raise ChatBusy(chat_id, COMMIT_TRIES_MAX)

    async def _load(self, chat_id: ChatId, asking: LoadQuery) -> Loaded:
        loaded = await self._store.load(chat_id, asking)
        if loaded is None:
            raise ChatNotFound(chat_id)
        return loaded

    async def _try(
        self,
        loaded: Loaded,
        commands: Sequence[Command],
        by: Actor | Fence | Sweep,
        keyed: IdempotencyKey | None,
        expected: Collection[Version] | None,
        audit: AuditEntry | None,
        *,
        take: bool = False,
    ) -> Commit | None:
        """One round of deciding and committing; None if another commit was first.

        `take`: acquired at once, if it may be. Not for ever: a lease that has lapsed refuses as
        an earlier commit does."""
        chat = loaded.facts.chat
        _check_right(chat, by)
        if keyed is not None and loaded.receipt is not None:
            _check_same_request(keyed, loaded.receipt)
            return Commit(chat=chat, answer=loaded.receipt.answer, repeated=True)
        if expected is not None and chat.history_version not in expected:
            raise ChangedMeanwhile
        outcome = decide_all(loaded.facts, commands, self._clock.now())
        if not outcome.changed:
            return await self._keep_unchanged(outcome, keyed)
        fence = by if isinstance(by, Fence) else None
        outcome = self._stamped(outcome)
        if audit is not None:
            outcome = replace(outcome, riders=(audit,))
        commit = self._store.commit
        if take and (place := self._place(outcome)) is not None:
            return await self._take(outcome, place, lambda taken: commit(taken, keyed=keyed))
        stamp = await commit(outcome, fence=fence, keyed=keyed)
        if stamp is None:
            return None
        return await self._tell(outcome, stamp, by_owner=fence is not None)

    async def _keep_unchanged(
        self, outcome: Outcome, keyed: IdempotencyKey | None
    ) -> Commit | None:
        """Answer a bundle that changes nothing; None if the chat moved on.

        A request with a key leaves a receipt nevertheless. Without it a repeat, whose first answer
        was lost, would be decided anew: a Stop would end the turn that began meanwhile (M1)."""
        chat, answer = outcome.chat, outcome.answer
        if keyed is not None and not await self._store.keep_receipt(
            chat.chat_id, keyed, answer, chat.stamp
        ):
            return None
        return Commit(chat=chat, answer=answer)

    def _stamped(self, outcome: Outcome) -> Outcome:
        return outcome.stamped(VersionStamp(self._random_bits(STAMP_BITS)))

    def _place(self, outcome: Outcome) -> WorkerSlot | None:
        return self._places.place(outcome.chat.chat_id) if may_be_taken(outcome) else None

    async def _take(
        self,
        outcome: Outcome,
        place: WorkerSlot,
        write: Callable[[Outcome], Awaitable[Stamp | None]],
    ) -> Commit | None:
        """The same commit, by which the worker of this process acquires the chat."""
        taken = taken_by(outcome, place.worker_id)
        try:
            stamp = await write(taken)
            if stamp is None:
                place.leave()
                return None
            commit = await self._tell(taken, stamp, by_owner=True)
        except OverQuota:
            place.leave()  # refused by the store: nothing was committed
            raise
        except BaseException:
            # Not answered, or the caller hung up: it may be ours, and no runner drives it.
            place.doubt(taken.chat)
            raise
        place.fill(taken, commit.messages)  # told before it is driven: its order is kept
        for _ in range(ROUNDS_FIRST):
            await asyncio.sleep(0)
        return commit

    async def _tell(self, outcome: Outcome, stamp: Stamp, *, by_owner: bool) -> Commit:
        chat = outcome.chat
        messages = tuple(
            Message(
                seq=appended.seq,
                body=appended.body
                if appended.promoted is None
                else replace(appended.body, parts=stamp.promoted),
                revision=chat.version,
                epoch=stamp.epoch,
                created_at=stamp.at,
                stamp=chat.history_stamp,
            )
            for appended in outcome.appended
        )
        self._resting.note(chat)
        # After the commit on purpose: a hint about a change that did not happen would be a lie.
        # publish() never raises, by its port's contract: the change is committed, polling finds it.
        await self._hints.publish((hint_of(outcome, messages, by_owner=by_owner),))
        return Commit(chat=chat, answer=outcome.answer, messages=messages)


def _check_right(chat: Chat, by: Actor | Fence | Sweep) -> None:
    match by:
        case Actor(org_id, user_id):
            if (chat.org_id, chat.owner_id) != (org_id, user_id):
                raise ChatNotFound(chat.chat_id)  # another user's is as good as none
        case Fence():
            by.check(chat)
        case Sweep():
            pass
        case _:
            assert_never(by)


def _check_same_request(keyed: IdempotencyKey, receipt: Receipt) -> None:
    if keyed.digest != receipt.digest:
        raise KeyReused(keyed.key)


def _asking(commands: Sequence[Command], keyed: IdempotencyKey | None) -> LoadQuery:
    target = next((c.seq for c in commands if isinstance(c, EditMessage)), None)
    past = next((c.version for c in commands if isinstance(c, Restore)), None)
    return LoadQuery(target=target, past=past, key=None if keyed is None else keyed.key)
