"""Local dispatch: where one process serves requests and drives turns, it stands before the ledger.

A user's commit that makes a chat at rest runnable acquires it for the worker of this process, in
the same statement, if that worker has room. Else a worker that hears the hint acquires it. A
message to a chat that this process left at rest is decided without a load.

Both only save round trips. The database decides which worker drives a chat, every write is fenced,
and a decision on remembered facts is committed only at their version and stamp.
"""

import asyncio
from contextlib import suppress
from typing import Final

from holdfast.chats.changes import Actor, ChangeRequest, Commit
from holdfast.chats.ledger import Ledger, creation
from holdfast.domain.chat import Chat, Facts
from holdfast.domain.commands import Create, Fork, SendMessage
from holdfast.domain.driving import may_be_taken, taken_by
from holdfast.domain.errors import CommandRefused, OverQuota
from holdfast.domain.ids import ChatId
from holdfast.domain.outcome import Outcome
from holdfast.ports.store import IdempotencyKey, Loaded
from holdfast.worker.idle_cache import IdleCache
from holdfast.worker.slots import WorkerSlot, WorkerSlots

ROUNDS_FIRST: Final = 2
"""Of the loop, before the sender is answered: in these the model is asked."""


class LocalDispatch:
    """A `ChatWriter` around the ledger."""

    def __init__(self, ledger: Ledger, slots: WorkerSlots, idle: IdleCache) -> None:
        """`idle`: the one that the ledger's `NotingStore` writes to."""
        self._ledger = ledger
        self._slots = slots
        self._idle = idle

    async def create(
        self, chat: Chat, command: Create, *, keyed: IdempotencyKey | None = None
    ) -> Commit:
        request = creation(chat, command, keyed)
        outcome = self._ledger.decide_commands(Facts(chat=chat), request)
        slot = self._slot(outcome)
        if slot is not None and (commit := await self._take(outcome, request, slot)):
            return commit
        return await self._ledger.begin(outcome, request)

    async def fork(
        self, chat: Chat, source: ChatId, command: Fork, *, keyed: IdempotencyKey | None = None
    ) -> Commit:
        """As the ledger does: a fork is at rest, so there is nothing to dispatch."""
        return await self._ledger.fork(chat, source, command, keyed=keyed)

    async def transact(self, chat_id: ChatId, request: ChangeRequest) -> Commit:
        """Commands of people may be dispatched, at the first try; others go to the ledger.

        Not at later tries: a lease that has lapsed refuses as an earlier commit does.
        """
        if not isinstance(request.by, Actor):
            return await self._ledger.transact(chat_id, request)
        if commit := await self._attempt_without_load(chat_id, request):
            return commit
        loaded = await self._ledger.load(chat_id, request)
        if commit := await self._attempt(loaded, request):
            return commit
        return await self._ledger.contend(chat_id, request)

    async def _attempt_without_load(self, chat_id: ChatId, request: ChangeRequest) -> Commit | None:
        """None if the chat is not remembered, or is not what it was."""
        if request.expected is not None:
            return None
        if not all(isinstance(command, SendMessage) for command in request.commands):
            return None
        chat = self._idle.recall(chat_id)
        if chat is None:
            return None
        # What is refused here may be lawful by now: after a load it is decided again.
        with suppress(CommandRefused):
            return await self._attempt(Loaded(Facts(chat=chat)), request)
        return None

    async def _attempt(self, loaded: Loaded, request: ChangeRequest) -> Commit | None:
        """Decide and commit, and acquire if there is room; None if another commit was first."""
        decided = self._ledger.decide(loaded, request)
        if isinstance(decided, Commit):
            return decided
        slot = self._slot(decided)
        if slot is None:
            return await self._ledger.commit(decided, request)
        return await self._take(decided, request, slot)

    def _slot(self, outcome: Outcome) -> WorkerSlot | None:
        return self._slots.reserve(outcome.chat.chat_id) if may_be_taken(outcome) else None

    async def _take(
        self, outcome: Outcome, request: ChangeRequest, slot: WorkerSlot
    ) -> Commit | None:
        """The same commit, by which the worker of this process acquires the chat."""
        taken = taken_by(outcome, slot.worker_id)
        try:
            commit = await self._ledger.commit(taken, request)
        except OverQuota:
            slot.leave()  # refused by the store: nothing was committed
            raise
        except BaseException:
            # Not answered, or the caller hung up: it may be ours, and no runner drives it.
            slot.doubt(taken.chat)
            raise
        if commit is None:
            slot.leave()
            return None
        slot.fill(taken, commit.messages)  # told before it is driven: its order is kept
        for _ in range(ROUNDS_FIRST):
            await asyncio.sleep(0)
        return commit
