"""People: who write and steer, wherever they get through, and who read, on any replica."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.chats.changes import Actor, ChangeRequest
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import (
    Command,
    Decide,
    EditMessage,
    Interrupt,
    MoveQueued,
    PromoteQueued,
    ResumeQueue,
    Retry,
    SendMessage,
    TakeQueued,
)
from holdfast.domain.errors import ChatBusy, ChatError, Unavailable
from holdfast.domain.events import EventType
from holdfast.domain.ids import ChatId, ClientKey
from holdfast.domain.messages import Role
from holdfast.ports.store import IdempotencyKey
from holdfast.stream.cursor import Cursor
from holdfast.stream.events import StreamEvent
from holdfast_client.view import EMPTY, WireEvent, WireView, reduce
from tests.support.builders import ORG, OWNER, user

if TYPE_CHECKING:
    from tests.simulation.world import Replica, World

ACTOR = Actor(ORG, OWNER)
TRIES_MAX = 12
PATIENCE_S = 5.0
POLLED_S = 2.6
"""After this every safety poll has found what the bus had lost."""


@dataclass
class Person:
    """Writes in one chat."""

    world: "World"
    chat_id: ChatId
    accepted: set[str] = field(default_factory=set[str])
    doubtful: set[str] = field(default_factory=set[str])
    removes: bool = False
    """Whether something was taken out of the history or the queue on purpose."""

    async def act(self, until_s: float) -> None:
        loop, chance = asyncio.get_running_loop(), self.world.chance
        while loop.time() < until_s:
            for command in self._choose(self.world.store.peek(self.chat_id)):
                await self.ask(command)
            await asyncio.sleep(chance.random() * (1.0 if chance.random() < 0.4 else 4.0))

    def _choose(self, chat: Chat) -> list[Command]:
        chance = self.world.chance
        drawn = chance.random()
        if chat.status is Status.FAILED and drawn < 0.6:
            return [Retry()]
        if chat.awaiting is not None and drawn < 0.6:
            verdict = "approve" if chance.random() < 0.7 else "deny"
            first = chat.awaiting.calls[0]
            digest = next(call.digest for call in chat.open_calls if call.call_id == first)
            return [Decide(first, verdict, digest)]
        if drawn < 0.2 and chat.status is Status.RUNNING:
            return [Interrupt()]
        if drawn < 0.35 and chat.queue:
            return [self._about_queue(chat)]
        if drawn > 0.92:
            spoken = [
                m.seq for m in self.world.store.visible(self.chat_id) if m.body.role is Role.USER
            ]
            if spoken:
                return [EditMessage(chance.choice(spoken), user(self.world.words()))]
        message = user(self.world.words())
        return [SendMessage(message, "interrupt" if chance.random() < 0.3 else "queue")]

    def _about_queue(self, chat: Chat) -> Command:
        chance = self.world.chance
        chosen = chance.choice(chat.queue).queued_id
        if chat.queue_paused and chance.random() < 0.5:
            return ResumeQueue()
        kind = chance.choice([TakeQueued, PromoteQueued, MoveQueued])
        return kind(chosen)

    async def ask(self, command: Command) -> bool:
        """Until somebody says yes or no; the same key each time."""
        world = self.world
        text = _text(command)
        keyed = IdempotencyKey(ClientKey(f"key{world.next_number()}"), repr(command).encode())
        self.removes |= isinstance(command, EditMessage | TakeQueued)
        if text:
            self.doubtful.add(text)
        for _ in range(TRIES_MAX):
            replica = world.some_replica()
            try:
                if replica is not None:
                    request = ChangeRequest((command,), by=ACTOR, key=keyed)
                    await replica.do(
                        lambda replica=replica, request=request: replica.server.ledger.transact(
                            self.chat_id, request
                        )
                    )
                    if text:
                        self.accepted.add(text)
                    return True
            except (Unavailable, ChatBusy):
                pass
            except ChatError:
                return False
            await asyncio.sleep(0.5)
        return False


def _text(command: Command) -> str | None:
    match command:
        case SendMessage(message=body) | EditMessage(replacement=body):
            return str(getattr(body.parts[0], "text", ""))
        case _:
            return None


@dataclass
class Reader:
    """Follows one chat: leaves, comes back elsewhere with its cursor, or begins anew."""

    world: "World"
    name: str
    chat_id: ChatId
    view: WireView = EMPTY
    cursor: Cursor | None = None
    events: list[StreamEvent] = field(default_factory=list[StreamEvent])
    certain: int = 0
    """Characters of the preview that came before an interrupt was asked for."""
    stays: bool = False
    at: "Replica | None" = None
    since_s: float = 0.0

    async def read(self) -> None:
        chance = self.world.chance
        while not self.world.over:
            if not self.world.doors.is_set():
                await self.world.doors.wait()
                await asyncio.sleep(chance.random() * 0.02)
            replica = self.world.some_replica()
            if replica is None:
                await asyncio.sleep(0.5)
                continue
            for_s = 3600.0 if self.stays else chance.uniform(0.3, 15.0)
            await replica.serve(self._follow, for_s)
            self.at = None
            if chance.random() < 0.1 and not self.stays:
                self.begin_anew()
            await asyncio.sleep(chance.random() * 0.5)

    def begin_anew(self) -> None:
        self.view, self.cursor, self.events, self.certain = EMPTY, None, [], 0

    async def _follow(self, replica: "Replica", is_there: Callable[[], bool]) -> None:
        try:
            async with replica.hub.follow(self.chat_id, self.cursor) as events:
                self.at, self.since_s = replica, asyncio.get_running_loop().time()
                async for event in events:
                    if replica.process.dead or not is_there():
                        return
                    self.take(event)
        except (Unavailable, ChatError):
            pass
        finally:
            if is_there():
                self.at = None

    def is_settled(self) -> bool:
        """Whether it has been connected for so long that it must have been told everything."""
        now_s = asyncio.get_running_loop().time()
        at = self.at
        return at is not None and at.up and at.polls and now_s - self.since_s > POLLED_S

    def take(self, event: StreamEvent) -> None:
        if event.kind is EventType.PING:
            return
        self.events.append(event)
        known, self.cursor = self.cursor, event.cursor or self.cursor
        wire = WireEvent.from_bytes(event.json())
        before = self.view
        self.view = reduce(before, wire)
        is_message = event.kind is EventType.MESSAGE_CREATED
        if is_message and before.preview is not None and known is not None:
            # Who was away when an attempt was given up gets the next thing that was said, and the
            # message takes the place of the preview.
            last = self.world.watch.last_attempt(self.chat_id, known.version)
            if self.view is not before and before.preview.attempt == last:
                self._check_kept(before, wire.data)
        shown = len(shown_text(self.view))
        if shown == 0:
            self.certain = 0
        elif self.cursor is not None and self._is_being_said(self.cursor):
            self.certain = shown

    def _is_being_said(self, cursor: Cursor) -> bool:
        """Else it is late: nobody has asked for an interrupt yet, and the history is still the one
        that is continued here. (A worker that wakes may show its own readers a last word.)"""
        chat = self.world.store.peek(self.chat_id)
        history = self.world.watch.history_at(self.chat_id, cursor.version)
        return chat.status is not Status.INTERRUPTING and chat.history_version == history

    def _check_kept(self, before: WireView, message: dict[str, Any]) -> None:
        """What was shown before an interrupt was acknowledged is in the message (M4)."""
        shown = shown_text(before)[: self.certain]
        texts = [part["text"] for part in message["parts"] if part["type"] == "text"]
        if not "".join(texts).startswith(shown) and not self.world.bus.was_emptied:
            self.world.problems.append(
                f"{self.name} was shown {shown!r}, and message {message['seq']} says {texts} (M4)"
            )


def shown_text(view: WireView) -> str:
    if view.preview is None:
        return ""
    parts = view.preview.parts
    return "".join(parts[i]["text"] for i in sorted(parts) if parts[i]["type"] == "text")
