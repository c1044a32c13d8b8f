"""Readers on several replicas, a turn driven by hand, and ways to make the bus and the store worse.

A `Stage` is what all replicas share: a store, a bus server, and a worker that commits through the
real ledger and speaks on a bus of its own.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from holdfast.chats.changes import ChangeRequest, Commit
from holdfast.chats.hints import hint_of_acquiring
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat
from holdfast.domain.commands import (
    BeginAttempt,
    Command,
    CommitStep,
    Create,
    EditMessage,
    Fail,
    FinishInterrupt,
    FinishTurn,
    Interrupt,
    RecordRetry,
    Retry,
    SendMessage,
)
from holdfast.domain.events import EventType
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, Seq
from holdfast.domain.messages import Ending, MessageBody
from holdfast.ports.bus import Bus, Episode, LivePart
from holdfast.stream.cursor import Cursor
from holdfast.stream.events import StreamEvent
from holdfast.stream.hub import Hub
from holdfast.stream.options import HubOptions
from holdfast_client.view import EMPTY, WireEvent, WireView, as_json, reduce
from holdfast_lab.chaos.harness.private_redis import private_redis
from tests.support.builders import ORG, OWNER, asks, backoff, error, reply, results, user
from tests.support.buses import CALM, BusServer, OnPostgres, OnRedis, until
from tests.support.database import add_user, cloned_pool, temporary_database
from tests.support.fake_bus import FakeBusServer
from tests.support.rough import RoughBus, WatchedStore, Weather
from tests.support.waits import HANG_S
from tests.support.world import ACTOR, World, fake_world, postgres_world

QUICK = HubOptions(poll_every_s=0.25, poll_grace_s=0.05, linger_s=0.05)
NEVER_POLLS = HubOptions(poll_every_s=3600, linger_s=0.05)
BUS = replace(CALM, tick_s=0.002, backoff_min_s=0.01, backoff_max_s=0.1)


class Recorder:
    """A reader that keeps what it was told. `until` waits for something to be true of it."""

    def __init__(self, hub: Hub, chat_id: ChatId, after: Cursor | None = None) -> None:
        self._hub = hub
        self._chat_id = chat_id
        self._after = after
        self._some = asyncio.Event()
        self.events: list[StreamEvent] = []
        self.view: WireView = EMPTY
        self.ended = False

    async def run(self) -> None:
        async with self._hub.follow(self._chat_id, self._after) as events:
            self._some.set()
            async for event in events:
                self.take(event)
        self.ended = True
        self._some.set()

    def take(self, event: StreamEvent) -> None:
        if event.kind is not EventType.PING:
            self.events.append(event)
        self.view = reduce(self.view, WireEvent.from_bytes(event.json()))
        self._some.set()

    async def until(self, true: Callable[["Recorder"], bool], within_s: float = HANG_S) -> None:
        try:
            async with asyncio.timeout(within_s):
                while not true(self):
                    self._some.clear()
                    await self._some.wait()
        except TimeoutError:
            raise AssertionError(f"never came true; told: {self.story}") from None

    @property
    def cursor(self) -> Cursor | None:
        return next((e.cursor for e in reversed(self.events) if e.cursor is not None), None)

    @property
    def story(self) -> list[str]:
        """What was told, one line each."""
        return [line(event) for event in self.events]

    @property
    def kinds(self) -> list[str]:
        return [event.kind.value for event in self.events]

    @property
    def parts(self) -> list[tuple[int, int]]:
        """Attempt and index of the live parts, in the order in which they came."""
        data = [orjson.loads(e.data) for e in self.events if e.kind is EventType.PREVIEW_DELTA]
        return [(each["attempt"], each["index"]) for each in data]

    @property
    def seqs(self) -> list[int]:
        """Of the messages in the view."""
        return [message["seq"] for message in self.view.messages]

    @property
    def status(self) -> str | None:
        return self.view.status

    @property
    def version(self) -> int:
        """Up to which everything was told."""
        return self.view.version


def line(event: StreamEvent) -> str:
    data: dict[str, Any] = orjson.loads(event.data)
    match event.kind:
        case EventType.MESSAGE_CREATED:
            return f"message {data['seq']}"
        case EventType.PREVIEW_DELTA:
            return f"part {data['attempt']}.{data['index']}"
        case EventType.CHAT_STATE:
            return f"status {data['status']} {data['attempt']}"
        case EventType.HISTORY_RESET:
            return f"history.reset {data['from_seq']}"
        case EventType.QUEUE_UPDATED:
            return f"queue {len(data['messages'])}"
        case _:
            return event.kind.value


@asynccontextmanager
async def recording(
    hub: Hub, chat_id: ChatId, after: Cursor | None = None
) -> AsyncGenerator[Recorder]:
    """A reader in a task of its own."""
    recorder = Recorder(hub, chat_id, after)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(recorder.run())
        try:
            yield recorder
        finally:
            task.cancel()


@dataclass
class Replica:
    hub: Hub
    bus: Bus
    store: WatchedStore


@dataclass
class Stage:
    world: World
    server: BusServer
    bus: RoughBus
    """The worker's, who publishes and appends."""
    said: dict[tuple[ChatId, Episode], int] = field(
        default_factory=dict[tuple[ChatId, Episode], int]
    )

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.world.store, self.bus, self.world.clock)

    @asynccontextmanager
    async def replica(
        self,
        options: HubOptions = QUICK,
        around: Callable[[Bus], Bus] = lambda bus: bus,
    ) -> AsyncGenerator[Replica]:
        """Another process, as far as readers can tell: a bus and a hub of its own."""
        store = WatchedStore(self.world.store, self.world.history)
        async with self.server.open(BUS) as own:
            bus = around(own)
            async with Hub(store, store, bus, options) as hub:
                yield Replica(hub, bus, store)

    async def create(self, *messages: MessageBody) -> Chat:
        chat = Chat(chat_id=self.world.ids.new_chat_id(), org_id=ORG, owner_id=OWNER)
        return (await self.ledger.create(chat, Create(messages))).chat

    async def do(self, chat_id: ChatId, *commands: Command) -> Commit:
        return await self.ledger.transact(chat_id, ChangeRequest(commands, by=ACTOR))

    async def acquire(self, chat_id: ChatId) -> Chat:
        """As a new worker, which tells of the attempt that this begins."""
        worker_id = await self.world.a_worker()
        acquired = await self.world.acquire(worker_id, limit=100)
        (chat,) = [chat for chat in acquired if chat.chat_id == chat_id]
        await self.bus.publish([hint_of_acquiring(chat)])
        return chat

    async def rescue(self, chat: Chat) -> Chat:
        """Another worker takes the chat over from a dead one."""
        assert chat.worker_id is not None
        await self.world.lapse(chat.worker_id)
        return await self.acquire(chat.chat_id)

    async def drive(self, chat: Chat, *commands: Command) -> Chat:
        request = ChangeRequest(commands, by=Fence.of(chat), snapshot=chat)
        commit = await self.ledger.transact(chat.chat_id, request)
        return commit.chat

    async def say(self, chat: Chat, count: int = 1, text: str = "w") -> None:
        """The next so many live parts of what the chat says now."""
        episode = Episode.of(chat)
        first = self.said.get((chat.chat_id, episode), 0) + 1
        self.said[chat.chat_id, episode] = first + count - 1
        await self.bus.append(
            [a_part(chat, seq, f"{text}{seq} ") for seq in range(first, first + count)]
        )

    async def flushed(self) -> None:
        """Until the worker's bus has sent what it was given."""
        counters = self.bus.counters
        await until(lambda: counters.sent_hints + counters.sent_parts >= self.bus.given)


def a_part(chat: Chat, seq: int, text: str) -> LivePart:
    deltas = [{"index": 0, "type": "text", "text": text}]
    episode = Episode.of(chat)
    return LivePart(chat.chat_id, episode, seq, orjson.dumps(deltas), chat.turn_seq)


@asynccontextmanager
async def a_stage(kind: str, template: str) -> AsyncGenerator[Stage]:
    """`postgres`: store and bus on one database; `redis`: the bus there; `fake`: in memory."""
    async with AsyncExitStack() as stack:
        if kind == "fake":
            world, server = fake_world(), FakeBusServer()
        else:
            pool = await stack.enter_async_context(cloned_pool(template, connections_max=8))
            await add_user(pool, ORG, OWNER)
            world = postgres_world(pool)
            if kind == "redis":
                server = OnRedis(await stack.enter_async_context(private_redis()))
            else:
                url = await stack.enter_async_context(temporary_database(template))
                server = OnPostgres(url)
        bus = await stack.enter_async_context(server.open(BUS))
        yield Stage(world, server, RoughBus(bus, Weather()))


class Hopper:
    """A reader that reconnects after every single event, to another replica each time."""

    def __init__(self, hubs: Sequence[Hub], chat_id: ChatId) -> None:
        self._hubs = hubs
        self._recorder = Recorder(hubs[0], chat_id)
        self._chat_id = chat_id

    @property
    def seen(self) -> Recorder:
        return self._recorder

    async def run(self) -> None:
        cursor: Cursor | None = None
        hops = 0
        while True:
            hub = self._hubs[hops % len(self._hubs)]
            async with hub.follow(self._chat_id, cursor) as events:
                event = await anext(events)
                while event.kind is EventType.PING:  # nothing is new
                    event = await anext(events)
                cursor = event.cursor or cursor
                self._recorder.take(event)
            hops += 1


@asynccontextmanager
async def hopping(hubs: Sequence[Hub], chat_id: ChatId) -> AsyncGenerator[Recorder]:
    hopper = Hopper(hubs, chat_id)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(hopper.run())
        try:
            yield hopper.seen
        finally:
            task.cancel()


def shown(view: WireView) -> dict[str, Any]:
    """A view without what depends on how its reader came by it."""
    return {k: v for k, v in as_json(view).items() if k not in {"cursor", "version"}}


def said_and_done(events: Sequence[StreamEvent]) -> list[str]:
    """The events that come exactly once each; the others say where the chat stands."""
    once = {
        EventType.MESSAGE_CREATED,
        EventType.PREVIEW_DELTA,
        EventType.HISTORY_RESET,
        EventType.PREVIEW_RESET,
    }
    return [line(event) for event in events if event.kind in once]


async def a_long_turn(
    stage: Stage, chat_id: ChatId, settled: Callable[[], Awaitable[None]]
) -> None:
    """Tools, a takeover, a retry, a queue, an edit, an interrupt and a failure, beat by beat."""
    await stage.do(chat_id, SendMessage(user("hello")))
    chat = await stage.acquire(chat_id)
    await settled()
    await stage.say(chat, 2)
    await settled()
    chat = await stage.drive(chat, CommitStep((asks("c1", "c2"),)))
    await stage.say(chat, 1, "output")
    await settled()
    await stage.do(chat_id, SendMessage(user("and this")))
    await stage.say(chat, 1, "output")
    await settled()
    chat = await stage.rescue(chat)
    await stage.say(chat, 1, "again")
    await settled()
    chat = await stage.drive(chat, CommitStep((results("c1", "c2"),)), BeginAttempt())
    await stage.say(chat, 2)
    await settled()
    chat = await stage.drive(chat, RecordRetry(backoff()))
    await settled()
    chat = await stage.drive(chat, BeginAttempt())
    await stage.say(chat, 3)
    await settled()
    chat = await stage.drive(chat, CommitStep((reply("done"),)), FinishTurn())
    await settled()
    await _an_interrupt_and_a_failure(stage, chat, settled)


async def _an_interrupt_and_a_failure(
    stage: Stage, chat: Chat, settled: Callable[[], Awaitable[None]]
) -> None:
    chat_id = chat.chat_id
    chat = await stage.drive(chat, BeginAttempt())
    await stage.say(chat, 1)
    await settled()
    await stage.do(chat_id, Interrupt())
    chat = await stage.world.load(chat_id)
    await settled()
    await stage.drive(chat, FinishInterrupt((reply("part", ending=Ending.INTERRUPTED),)))
    await settled()
    await stage.do(chat_id, EditMessage(Seq(1), user("rather this")))
    chat = await stage.acquire(chat_id)
    await stage.say(chat, 2)
    await settled()
    await stage.drive(chat, Fail(error()))
    await settled()
    await stage.do(chat_id, Retry())
    chat = await stage.acquire(chat_id)
    await stage.say(chat, 1)
    await settled()
    await stage.drive(chat, CommitStep((reply("at last"),)), FinishTurn())
    await settled()
