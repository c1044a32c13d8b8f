"""What must be true: after every statement, and when everything has come to rest."""

from collections import Counter
from itertools import count, takewhile
from operator import is_
from typing import TYPE_CHECKING, Any

import orjson

from holdfast.chats.hints import encode_data
from holdfast.domain.chat import Chat, Status
from holdfast.domain.events import is_shown, message_json
from holdfast.domain.fence import Fence
from holdfast.domain.ids import NO_VERSION, ChatId, Version
from holdfast.domain.messages import Message, Role
from holdfast.domain.outcome import Outcome
from holdfast.domain.parts import Text, ToolResult
from holdfast.ports.bus import Episode
from holdfast.ports.store import IdempotencyKey, Stamp
from tests.simulation.store import OpenStore, WatchedBus
from tests.support.order import check_order
from tests.support.stage import valid

if TYPE_CHECKING:
    from tests.simulation.people import Person, Reader
    from tests.simulation.world import World


class FencedStore:
    """Sees to it that nobody commits under a lease that has passed on (S4)."""

    def __init__(self, store: OpenStore, problems: list[str]) -> None:
        self._store = store
        self._problems = problems

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        record = self._store.record(outcome.before.chat_id)
        owner = record.chat.worker_id, record.chat.epoch
        stamp = await self._store.commit(outcome, fence=fence, keyed=keyed)
        if stamp is not None and fence is not None and owner != (fence.worker_id, fence.epoch):
            self._problems.append(f"epoch {fence.epoch} wrote in epoch {owner[1]} (S4)")
        return stamp


class Commits:
    """Compares every chat with how it was before the statement."""

    def __init__(self, store: OpenStore, bus: WatchedBus, problems: list[str]) -> None:
        self._store = store
        self._bus = bus
        self._said: dict[ChatId, tuple[Version, str]] = {}
        self._retried: set[tuple[ChatId, Episode]] = set()
        self._problems = problems
        self._before: dict[ChatId, Chat] = {}
        self._histories: dict[tuple[ChatId, int], Version] = {}
        self._attempts: dict[tuple[ChatId, Version], int] = {}
        self.summary = ""
        """Where every chat stood at the last look."""

    def look(self) -> None:
        chats = self._store.chats()
        if len(chats) == len(self._before) and all(map(is_, chats, self._before.values())):
            return  # most statements change nothing
        for chat in chats:
            chat_id = chat.chat_id
            before = self._before.get(chat_id)
            if before is not None and chat is not before:
                self._compare(before, chat)
            self._before[chat_id] = chat
            self._histories[chat_id, chat.version] = chat.history_version
            self._attempts[chat_id, chat.history_version] = chat.attempt
        self.summary = " ".join(
            f"{chat.version}/{chat.epoch}/{chat.attempt}/{chat.status[:3]}" for chat in chats
        )

    def last_attempt(self, chat_id: ChatId, version: int) -> int:
        """Of the history that a chat had at a version."""
        return self._attempts.get((chat_id, self.history_at(chat_id, version)), 0)

    def history_at(self, chat_id: ChatId, version: int) -> Version:
        history = self._histories.get((chat_id, version))
        if history is None:
            self._problems.append(f"somebody was told of version {version} before it was there")
        return history or NO_VERSION

    def _compare(self, before: Chat, chat: Chat) -> None:
        changed = chat.version - before.version
        if changed not in (0, 1) or chat.epoch - before.epoch not in (0, 1):
            self._problems.append(f"{state(before)} became {state(chat)} at once (S2)")
        if chat.history_version < before.history_version or chat.last_seq < before.last_seq:
            self._problems.append(f"{state(before)} fell back to {state(chat)} (S2)")
        if max(chat.history_version, chat.queue_version) > chat.version:
            self._problems.append(f"{state(chat)} is ahead of itself (S2)")
        self._keep_said(before, chat)
        unpaused = chat.queue and not chat.queue_paused
        if chat.status is Status.IDLE and (unpaused or chat.worker_id or chat.open_calls):
            self._problems.append(f"{state(chat)} is idle with something left (S8)")

    def _keep_said(self, before: Chat, chat: Chat) -> None:
        """What was shown when an interrupt was acknowledged is stored when it is done, whoever
        does it (M4). Only for as long as the bus lost nothing, and for words that no failure has
        taken back before."""
        chat_id = chat.chat_id
        if chat.backoff is not None:
            self._retried.add((chat_id, Episode.of(chat)))
        if before.status is Status.RUNNING and chat.status is Status.INTERRUPTING:
            self._said[chat_id] = chat.version, self._text(chat)
        if before.status is not Status.INTERRUPTING or chat.status is Status.INTERRUPTING:
            return
        since, said = self._said.pop(chat_id, (before.version, ""))
        record = self._store.record(chat_id)
        added = [m for m in record.messages if m.revision > since and m.body.role is Role.ASSISTANT]
        kept = "".join(p.text for m in added for p in m.body.parts if isinstance(p, Text))
        edited = any((m.removed_revision or 0) > since for m in record.messages)
        if not kept.startswith(said) and not self._bus.was_emptied and not edited:
            self._problems.append(f"{said!r} had been shown, {kept!r} is kept (M4)")

    def _text(self, chat: Chat) -> str:
        episode = Episode.of(chat)
        if (chat.chat_id, episode) in self._retried:
            return ""
        parts = self._bus.log.get((chat.chat_id, episode), {})
        # Nobody is shown what comes after a part that the bus lost.
        told = takewhile(parts.__contains__, count(1))
        deltas = [delta for seq in told for delta in orjson.loads(parts[seq].payload)]
        return "".join(delta["text"] for delta in deltas if delta["type"] == "text")


def state(chat: Chat) -> dict[str, object]:
    return {
        "version": chat.version,
        "epoch": chat.epoch,
        "status": chat.status.value,
        "attempt": chat.attempt,
        "owner": chat.worker_id,
    }


def check_end(world: "World") -> None:
    for person in world.people:
        problems = [
            *_messages_of(world, person),
            *valid_path(world.store.visible(person.chat_id)),
            *_effects_of(world, person),
        ]
        world.problems += problems
    check_views(world, world.readers)


def check_views(world: "World", readers: "list[Reader]") -> None:
    for reader in readers:
        world.problems += _view_of(world, reader)


def _messages_of(world: "World", person: "Person") -> list[str]:
    """Every accepted message exactly once (M1)."""
    record = world.store.record(person.chat_id)
    said = [
        str(getattr(m.body.parts[0], "text", ""))
        for m in record.messages
        if m.body.role is Role.USER
    ]
    waited = [
        str(getattr(queued.parts[0], "text", ""))
        for queued_id, queued in record.queued.items()
        if queued_id not in record.promoted
    ]
    counted = Counter(said + waited)
    wrong = [
        f"{text!r} is there {counted[text]} times (M1)" for text in counted if counted[text] > 1
    ]
    wrong += [f"{text!r} was accepted and is lost (M1)" for text in person.accepted - set(counted)]
    if not person.removes:
        there = Counter(
            str(getattr(m.body.parts[0], "text", ""))
            for m in world.store.visible(person.chat_id)
            if m.body.role is Role.USER
        )
        there.update(str(getattr(q.head.parts[0], "text", "")) for q in record.chat.queue)
        wrong += [f"{text!r} is hidden (M1)" for text in person.accepted if there[text] != 1]
    seqs = sorted(m.seq for m in record.messages)
    if seqs != list(range(1, len(seqs) + 1)):
        wrong.append(f"seqs are {seqs} (M2)")
    return wrong


def valid_path(messages: list[Message]) -> list[str]:
    """Calls and results paired (M3), epochs never falling (S6); numbers have holes after edits."""
    return [
        f"{wrong} (M3, S6)"
        for wrong in valid(messages)
        if not wrong.startswith("seq ") and "at the end" not in wrong
    ]


def _effects_of(world: "World", person: "Person") -> list[str]:
    wrong: list[str] = []
    record = world.store.record(person.chat_id)
    effects = world.outside.effects
    for message in record.messages:
        for part in message.body.parts:
            if not isinstance(part, ToolResult):
                continue
            happened = effects[person.chat_id, part.call_id]
            if part.tool in {"once", "gated"} and happened > 1:
                wrong.append(f"{part.call_id} happened {happened} times (X1)")
            if not part.failed and part.synthetic is None and happened == 0:
                wrong.append(f"{part.call_id} has a result and never happened (X1)")
    return wrong


def _view_of(world: "World", reader: "Reader") -> list[str]:
    wrong: list[str] = []
    try:
        check_order(reader.events)
    except AssertionError as disorder:
        wrong.append(f"{reader.name}: {disorder}")
    stored: list[Any] = [
        orjson.loads(encode_data(message_json(message)))
        for message in world.store.visible(reader.chat_id)
        if is_shown(message.body)
    ]
    if list(reader.view.messages) != stored:
        told = [message["seq"] for message in reader.view.messages]
        wrong.append(
            f"{reader.name} sees messages {told}, stored are {[m['seq'] for m in stored]} (R1, R2)"
        )
    chat = world.store.peek(reader.chat_id)
    status = reader.view.status
    if status != chat.status:
        wrong.append(f"{reader.name} sees {status}, stored is {chat.status} (R1)")
    if reader.view.preview is not None:
        wrong.append(f"{reader.name} still has a preview of a chat at rest (M4)")
    return wrong
