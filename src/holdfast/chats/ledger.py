"""The one door: load the facts, decide, commit if nothing moved meanwhile, then hint.

Nothing is held while Python thinks: no transaction, no row lock. Whoever was overtaken loads and
decides again, a bounded number of times.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import UnionType
from typing import Final, assert_never
from weakref import WeakValueDictionary

from holdfast.chats.telling import hint_of
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
)
from holdfast.domain.decide import decide_all
from holdfast.domain.errors import (
    ChangedMeanwhile,
    ChatBusy,
    ChatNotFound,
    KeyReused,
    VersionNotFound,
)
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, OrgId, UserId, Version
from holdfast.domain.messages import Message
from holdfast.domain.outcome import Answer, Outcome
from holdfast.ports.bus import Hints
from holdfast.ports.clock import Clock
from holdfast.ports.store import Asking, Keyed, Loaded, Receipt, Stamp, Store, Upto

COMMIT_TRIES_MAX: Final = 20


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
    def __init__(self, store: Store, hints: Hints, clock: Clock) -> None:
        self._store = store
        self._hints = hints
        self._clock = clock
        self._turns: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()

    async def create(self, chat: Chat, command: Create, *, keyed: Keyed | None = None) -> Commit:
        """Bring a chat into being; with a key that its owner used before, find that chat."""
        return await self._create(Facts(chat=chat), command, keyed)

    async def fork(
        self, chat: Chat, source: ChatId, command: Fork, *, keyed: Keyed | None = None
    ) -> Commit:
        """Bring a chat into being that begins with the history of another.

        Asks nobody whether its owner may read that one: whoever calls this has asked. What is
        copied is fixed by the version that was loaded, whatever happens there meanwhile.
        """
        # First, for a repeat must be answered even if the source says no by now.
        if keyed is not None and (commit := await self._created_before(chat.owner_id, keyed)):
            return commit
        asking = Asking(origin=Upto(command.at, command.as_of))
        loaded = (await self._load(source, asking)).facts
        if loaded.origin is None:
            reason = f"no history as of version {command.as_of}"
            raise VersionNotFound(source, loaded.chat.standing, "Fork", reason)
        return await self._create(Facts(chat=chat, origin=loaded.origin), command, keyed)

    async def _create(self, facts: Facts, command: Create | Fork, keyed: Keyed | None) -> Commit:
        outcome = decide_all(facts, (command,), self._clock.now())
        stamp = await self._store.create(outcome, keyed)
        if stamp is not None:
            return await self._tell(outcome, stamp, by_owner=False)
        assert keyed is not None, "only a key makes a chat exist already"
        commit = await self._created_before(facts.chat.owner_id, keyed)
        if commit is None:
            raise ChatBusy(facts.chat.chat_id, 1)  # made and deleted between two statements
        return commit

    async def _created_before(self, owner_id: UserId, keyed: Keyed) -> Commit | None:
        created = await self._store.find_created(owner_id, keyed.key)
        if created is None:
            return None
        _check_same_request(keyed, created.receipt)
        loaded = await self._load(created.chat_id, Asking())
        return Commit(chat=loaded.facts.chat, answer=created.receipt.answer, repeated=True)

    async def transact(
        self,
        chat_id: ChatId,
        *commands: Command,
        by: Actor | Fence | Sweep,
        keyed: Keyed | None = None,
        snapshot: Chat | None = None,
        expected: Collection[Version] | None = None,
        audit: AuditEntry | None = None,
    ) -> Commit:
        """Commit a bundle of commands as one version, or raise why not.

        `expected`: `ChangedMeanwhile` if the history is of none of these versions; the commit
        compares what was compared here.

        `audit`: what the audit log is told if, and only if, this changes the chat.

        People command as themselves, a runner under its fence, and only the sweep expires.
        A runner passes the snapshot it holds, which saves the load as long as nobody else writes.
        """
        speaker = FROM[type(by)]
        assert all(isinstance(command, speaker) for command in commands), f"not for {by} to ask"
        if snapshot is not None and (
            commit := await self._try(
                Loaded(Facts(chat=snapshot)), commands, by, keyed, None, audit
            )
        ):
            return commit
        asking = _asking(commands, keyed)

        async def again() -> Commit | None:
            loaded = await self._load(chat_id, asking)
            return await self._try(loaded, commands, by, keyed, expected, audit)

        if commit := await again():
            return commit
        # Overtaken. From here on the contenders in this process go one at a time: without that,
        # n of them would need n² tries between them.
        async with self._turns.setdefault(chat_id, asyncio.Lock()):
            for _ in range(COMMIT_TRIES_MAX):
                if commit := await again():
                    return commit
        raise ChatBusy(chat_id, COMMIT_TRIES_MAX)

    async def _load(self, chat_id: ChatId, asking: Asking) -> Loaded:
        loaded = await self._store.load(chat_id, asking)
        if loaded is None:
            raise ChatNotFound(chat_id)
        return loaded

    async def _try(
        self,
        loaded: Loaded,
        commands: Sequence[Command],
        by: Actor | Fence | Sweep,
        keyed: Keyed | None,
        expected: Collection[Version] | None,
        audit: AuditEntry | None,
    ) -> Commit | None:
        """One round of deciding and committing; None if somebody was faster."""
        chat = loaded.facts.chat
        _check_right(chat, by)
        if keyed is not None and loaded.receipt is not None:
            _check_same_request(keyed, loaded.receipt)
            return Commit(chat=chat, answer=loaded.receipt.answer, repeated=True)
        if expected is not None and chat.history_version not in expected:
            raise ChangedMeanwhile
        outcome = decide_all(loaded.facts, commands, self._clock.now())
        if not outcome.changed:
            return Commit(chat=chat, answer=outcome.answer)
        fence = by if isinstance(by, Fence) else None
        if audit is not None:
            outcome = replace(outcome, audit=audit)
        stamp = await self._store.commit(outcome, fence=fence, keyed=keyed)
        if stamp is None:
            return None
        return await self._tell(outcome, stamp, by_owner=fence is not None)

    async def _tell(self, outcome: Outcome, stamp: Stamp, *, by_owner: bool) -> Commit:
        chat = outcome.chat
        messages = tuple(
            Message(
                seq=appended.seq,
                body=appended.body,
                revision=chat.version,
                epoch=stamp.epoch,
                created_at=stamp.at,
            )
            for appended in outcome.appended
        )
        # After the commit on purpose: a hint about a change that did not happen would be a lie.
        # publish() never raises, by its port's contract: the change is committed, polling finds it.
        await self._hints.publish((hint_of(outcome, messages, by_owner=by_owner),))
        return Commit(chat=chat, answer=outcome.answer, messages=messages)


def _check_right(chat: Chat, by: Actor | Fence | Sweep) -> None:
    match by:
        case Actor(org_id, user_id):
            if (chat.org_id, chat.owner_id) != (org_id, user_id):
                raise ChatNotFound(chat.chat_id)  # somebody else's is as good as none
        case Fence():
            by.check(chat)
        case Sweep():
            pass
        case _:
            assert_never(by)


def _check_same_request(keyed: Keyed, receipt: Receipt) -> None:
    if keyed.digest != receipt.digest:
        raise KeyReused(keyed.key)


def _asking(commands: Sequence[Command], keyed: Keyed | None) -> Asking:
    target = next((c.seq for c in commands if isinstance(c, EditMessage)), None)
    past = next((c.version for c in commands if isinstance(c, Restore)), None)
    return Asking(target=target, past=past, key=None if keyed is None else keyed.key)
