"""The one door: load the facts, decide, commit if no other commit came first, then hint.

Nothing is held while Python thinks: no transaction, no row lock. A command that was overtaken is
loaded for and decided again, a bounded number of times.

The ledger knows no worker. Where one process serves requests and drives turns, the worker's
`LocalDispatch` stands in front of it and uses the same pieces: `load`, `decide`, `commit`,
`contend`.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Final, assert_never
from weakref import WeakValueDictionary

from holdfast.chats.changes import Actor, By, ChangeRequest, Commit, Overseer, Sweep
from holdfast.chats.hints import hint_of
from holdfast.domain.chat import Chat, Facts
from holdfast.domain.commands import (
    Command,
    Create,
    EditMessage,
    Fork,
    Restore,
    SendMessage,
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
from holdfast.domain.ids import NO_VERSION, STAMP_BITS, ChatId, ClientKey, UserId, VersionStamp
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.outcome import Outcome
from holdfast.ports.bus import Hints
from holdfast.ports.clock import Clock
from holdfast.ports.store import IdempotencyKey, Loaded, LoadQuery, Receipt, Stamp, Store, Upto

COMMIT_TRIES_MAX: Final = 20


class Ledger:
    """A `ChatWriter` on a store."""

    def __init__(
        self,
        store: Store,
        hints: Hints,
        clock: Clock,
        random_bits: Callable[[int], int] = secrets.randbits,
    ) -> None:
        """`random_bits`: so many random bits, for the stamps of commits."""
        self._store = store
        self._hints = hints
        self._clock = clock
        self._random_bits = random_bits
        self._turns: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()

    async def create(
        self, chat: Chat, command: Create, *, keyed: IdempotencyKey | None = None
    ) -> Commit:
        request = creation(chat, command, keyed)
        return await self.begin(self.decide_commands(Facts(chat=chat), request), request)

    async def fork(
        self, chat: Chat, source: ChatId, command: Fork, *, keyed: IdempotencyKey | None = None
    ) -> Commit:
        # First, for a repeat must be answered even if the source says no by now.
        if keyed is not None and (commit := await self._created_before(chat.owner_id, keyed)):
            return commit
        query = LoadQuery(origin=Upto(command.at, command.as_of))
        loaded = (await self._load(source, query)).facts
        if loaded.origin is None:
            reason = f"no history as of version {command.as_of}"
            raise VersionNotFound(source, loaded.chat.standing, "Fork", reason)
        request = creation(chat, command, keyed)
        outcome = self.decide_commands(Facts(chat=chat, origin=loaded.origin), request)
        return await self.begin(outcome, request)

    async def transact(self, chat_id: ChatId, request: ChangeRequest) -> Commit:
        if request.snapshot is not None:
            known = Loaded(Facts(chat=request.snapshot))
            if commit := await self._attempt(known, request):
                return commit
        loaded = await self.load(chat_id, request)
        return await self._attempt(loaded, request) or await self.contend(chat_id, request)

    async def _attempt(self, loaded: Loaded, request: ChangeRequest) -> Commit | None:
        """Decide and commit; None if another commit was first."""
        decided = self.decide(loaded, request)
        return decided if isinstance(decided, Commit) else await self.commit(decided, request)

    # The pieces of a change.

    async def load(self, chat_id: ChatId, request: ChangeRequest) -> Loaded:
        """The facts that the commands need, and the receipt if the key was used before."""
        return await self._load(chat_id, _query(request))

    def decide(self, loaded: Loaded, request: ChangeRequest) -> Outcome | Commit:
        """What the request changes; of a repeat, the first answer. Raises why it may not."""
        chat = loaded.facts.chat
        _check_right(chat, request.by)
        if request.key is not None and loaded.receipt is not None:
            _check_same_request(request.key, loaded.receipt)
            return Commit(chat=chat, answer=loaded.receipt.answer, repeated=True)
        if request.expected is not None and chat.history_version not in request.expected:
            raise ChangedMeanwhile
        return self.decide_commands(loaded.facts, request)

    def decide_commands(self, facts: Facts, request: ChangeRequest) -> Outcome:
        """What the commands change in these facts, as a commit of its own."""
        commands = request.commands
        if request.key is not None:
            commands = tuple(_keyed(command, request.key.key) for command in commands)
        outcome = decide_all(facts, commands, self._clock.now())
        if not outcome.changed:
            return outcome
        outcome = outcome.stamped(VersionStamp(self._random_bits(STAMP_BITS)))
        if request.audit is None and not request.riders:
            return outcome
        audit = () if request.audit is None else (request.audit,)
        return replace(outcome, riders=(*audit, *request.riders))

    async def commit(self, outcome: Outcome, request: ChangeRequest) -> Commit | None:
        """Write the outcome of a request and publish it; None if another commit was first."""
        if not outcome.changed:
            return await self._keep_unchanged(outcome, request.key)
        fence = request.by if isinstance(request.by, Fence) else None
        if outcome.before.version == NO_VERSION:
            stamp = await self._store.create(outcome, request.key)
        else:
            stamp = await self._store.commit(outcome, fence=fence, keyed=request.key)
        if stamp is None:
            return None
        messages = _messages(outcome, stamp)
        by_owner = fence is not None or outcome.taker is not None
        # After the commit on purpose: a hint about a change that did not happen would be a lie.
        # publish() never raises, by its port's contract: the change is committed, polling finds it.
        await self._hints.publish((hint_of(outcome, messages, by_owner=by_owner),))
        return Commit(chat=outcome.chat, answer=outcome.answer, messages=messages)

    async def begin(self, outcome: Outcome, request: ChangeRequest) -> Commit:
        """Commit a new chat, or find the one that an earlier request with the same key made."""
        if commit := await self.commit(outcome, request):
            return commit
        chat = outcome.chat
        assert request.key is not None, "only a key makes a chat exist already"
        if commit := await self._created_before(chat.owner_id, request.key):
            return commit
        raise ChatBusy(chat.chat_id, 1)  # made and deleted between two statements

    async def contend(self, chat_id: ChatId, request: ChangeRequest) -> Commit:
        """Load and decide again after another commit was first, a bounded number of times.

        The contenders in this process go one at a time: without that, n of them would need n²
        tries between them.
        """
        async with self._turns.setdefault(chat_id, asyncio.Lock()):
            for _ in range(COMMIT_TRIES_MAX):
                loaded = await self.load(chat_id, request)
                if commit := await self._attempt(loaded, request):
                    return commit
        raise ChatBusy(chat_id, COMMIT_TRIES_MAX)

    async def _load(self, chat_id: ChatId, query: LoadQuery) -> Loaded:
        loaded = await self._store.load(chat_id, query)
        if loaded is None:
            raise ChatNotFound(chat_id)
        return loaded

    async def _created_before(self, owner_id: UserId, keyed: IdempotencyKey) -> Commit | None:
        created = await self._store.find_created(owner_id, keyed.key)
        if created is None:
            return None
        _check_same_request(keyed, created.receipt)
        loaded = await self._load(created.chat_id, LoadQuery())
        return Commit(chat=loaded.facts.chat, answer=created.receipt.answer, repeated=True)

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


def creation(chat: Chat, command: Create | Fork, keyed: IdempotencyKey | None) -> ChangeRequest:
    """The owner's request for a new chat."""
    return ChangeRequest((command,), by=Actor(chat.org_id, chat.owner_id), key=keyed)


def _keyed(command: Command, key: ClientKey) -> Command:
    """The same, and the message that it sends carries the key of the request."""
    match command:
        case SendMessage(message):
            return replace(command, message=replace(message, client_key=key))
        case EditMessage(_, replacement):
            return replace(command, replacement=replace(replacement, client_key=key))
        case Create(messages):
            return replace(command, messages=_last_keyed(messages, key))
        case _:
            return command


def _last_keyed(messages: tuple[MessageBody, ...], key: ClientKey) -> tuple[MessageBody, ...]:
    """Of a whole history, the last user message: the answer names that one."""
    last = max((n for n, body in enumerate(messages) if body.role is Role.USER), default=None)
    return tuple(
        replace(body, client_key=key) if n == last else body for n, body in enumerate(messages)
    )


def _messages(outcome: Outcome, stamp: Stamp) -> tuple[Message, ...]:
    """What a commit appended, as it is stored."""
    return tuple(
        Message(
            seq=appended.seq,
            body=appended.body
            if appended.promoted is None
            else replace(appended.body, parts=stamp.promoted),
            revision=outcome.chat.version,
            epoch=stamp.epoch,
            created_at=stamp.at,
            turn_seq=appended.turn_seq,
            queued_id=appended.promoted,
            attempt=appended.attempt,
            stamp=outcome.chat.history_stamp,
        )
        for appended in outcome.appended
    )


def _check_right(chat: Chat, by: By) -> None:
    match by:
        case Actor(org_id, user_id):
            if (chat.org_id, chat.owner_id) != (org_id, user_id):
                raise ChatNotFound(chat.chat_id)  # another user's is as good as none
        case Overseer(org_id):
            if chat.org_id != org_id:
                raise ChatNotFound(chat.chat_id)
        case Fence():
            by.check(chat)
        case Sweep():
            pass
        case _:
            assert_never(by)


def _check_same_request(keyed: IdempotencyKey, receipt: Receipt) -> None:
    if keyed.digest != receipt.digest:
        raise KeyReused(keyed.key)


def _query(request: ChangeRequest) -> LoadQuery:
    target = next((c.seq for c in request.commands if isinstance(c, EditMessage)), None)
    past = next((c.version for c in request.commands if isinstance(c, Restore)), None)
    return LoadQuery(target=target, past=past, key=None if request.key is None else request.key.key)
