"""A driver on a world, a fake bus and a scripted model, and short words for what tests do."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from holdfast.adapters.bus.lossy import LossyBus
from holdfast.admin.current import CurrentSettings
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Command, Interrupt
from holdfast.domain.errors import Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import CallId, ChatId
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.outcome import Outcome
from holdfast.domain.parts import Need, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.ports.bus import Episode
from holdfast.ports.models import Models
from holdfast.ports.store import JUST_THE_CHAT, IdempotencyKey, Loaded, LoadQuery, Stamp, Store
from holdfast.ports.tools import Effect, Run, ToolOutput, Tools, ToolSpec
from holdfast.tools.toolbox import Function, Functions
from holdfast.turn.driver import Driver
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.options import LiveOptions, ToolOptions, TurnOptions
from holdfast.turn.reading import TurnReader
from holdfast.turn.retry import RetryPolicy
from tests.support.builders import user
from tests.support.fake_bus import FakeBusServer
from tests.support.scripted import ScriptedModels
from tests.support.waits import HANG_S
from tests.support.world import World, fake_world

QUICK = TurnOptions(
    retry=RetryPolicy(first_delay_s=0.01, delay_s_max=0.02),
    live=LiveOptions(every_s=0.002),
    tools=ToolOptions(stop_s=0.3, handover_s=0.3),
    partial_s=0.2,
    patience_s=5.0,
    pause_s=0.001,
    pause_s_max=0.01,
)


class TroubledStore:
    """A store whose answers may get lost. `trouble(verb, number)` says how the nth call of a verb
    fares: `lost` before it happens, `unconfirmed` after."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self._pages: Any = inner
        self.trouble: Callable[[str, int], str | None] = lambda verb, number: None
        self.calls: dict[str, int] = {}
        self.before: dict[int, Callable[[], Awaitable[None]]] = {}

    async def _fare(self, verb: str, doing: Callable[[], Awaitable[Any]]) -> Any:
        await asyncio.sleep(0)
        number = self.calls[verb] = self.calls.get(verb, 0) + 1
        if verb == "commit" and number in self.before:
            await self.before[number]()
        fate = self.trouble(verb, number)
        if fate == "lost":
            raise Unavailable("lost")
        result = await doing()
        await asyncio.sleep(0)
        if fate == "unconfirmed":
            raise Unavailable("unconfirmed")
        return result

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        return await self._fare("load", lambda: self._inner.load(chat_id, asking))

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        return await self._fare(
            "commit", lambda: self._inner.commit(outcome, fence=fence, keyed=keyed)
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def page(self, *args: Any, **more: Any) -> Any:
        return await self._fare("page", lambda: self._pages.page(*args, **more))


@dataclass
class Stage:
    """One process that drives, on a world that others may share."""

    world: World
    server: FakeBusServer
    bus: LossyBus
    store: TroubledStore
    models: Any
    tools: Tools
    options: TurnOptions = QUICK
    settings: CurrentSettings | None = None
    driver: Driver = field(init=False)

    def __post_init__(self) -> None:
        store: Any = self.store
        ledger = Ledger(store, self.bus, self.world.clock)
        reading = TurnReader(store, store)
        self.driver = Driver(
            ledger,
            reading,
            self.bus,
            self.models,
            self.tools,
            self.options,
            clock=self.world.clock,
            chance=lambda: 0.5,
            settings=self.settings,
        )

    def with_models(
        self, models: Models, settings: CurrentSettings | None = None, **options: Any
    ) -> "Stage":
        """Another process on the same world."""
        return Stage(
            self.world,
            self.server,
            self.bus,
            TroubledStore(self.store._inner),  # pyright: ignore[reportPrivateUsage]
            models,
            self.tools,
            replace(self.options, **options),
            settings or self.settings,
        )

    def with_settings(self, settings: CurrentSettings) -> "Stage":
        return replace(self, settings=settings)

    @property
    def counters(self) -> Any:
        return self.driver.counters

    async def drive(self, chat: Chat, nudges: Interrupts | None = None) -> Chat:
        async with asyncio.timeout(HANG_S):
            return await self.driver.drive(chat, nudges or Interrupts(chat))

    async def turn(self, *messages: MessageBody) -> Chat:
        """A chat with these messages, acquired and driven until it rests."""
        return await self.drive(await self.world.running(*(messages or (user(),))))

    async def again(self, chat: Chat) -> Chat:
        """As somebody who comes after a dead worker finds it: acquired by another."""
        if chat.worker_id is not None:
            await self.world.lapse(chat.worker_id)
        worker_id = await self.world.a_worker()
        found = [c for c in await self.world.acquire(worker_id) if c.chat_id == chat.chat_id]
        assert found, f"{chat.status} is not acquired"
        return found[0]

    def now(self, chat: Chat) -> Chat:
        """The chat as it is stored at this moment, without asking anybody."""
        store: Any = self.world.store
        return store._records[chat.chat_id].chat

    async def history(self, chat: Chat) -> tuple[Message, ...]:
        return await self.world.read(chat.chat_id)

    async def said(self, chat: Chat) -> list[str]:
        """The history, told in a word or two per message."""
        return [told(message.body) for message in await self.history(chat)]

    def shown(self, chat: Chat, attempt: int | None = None) -> str:
        """All text that went to the bus in the episode of a snapshot."""
        episode = Episode.of(chat)._replace(attempt=attempt or chat.attempt)
        parts = self.server.log.get((chat.chat_id, episode), {})
        deltas = [delta for seq in sorted(parts) for delta in orjson.loads(parts[seq].payload)]
        return "".join(d["text"] for d in deltas if d["type"] in {"text", "reasoning"})

    async def bus_is_quiet(self) -> None:
        """Until everything that was appended is there for a latecomer."""
        seen = -1
        while seen != self.bus.counters.sent_parts:
            seen = self.bus.counters.sent_parts
            await asyncio.sleep(0.03)

    def before_commit(self, number: int, doing: Callable[[], Awaitable[None]]) -> None:
        """Somebody else gets in right before our nth commit."""
        self.store.before[number] = doing

    async def interrupt(self, chat: Chat, nudges: Interrupts, *commands: Command) -> Chat:
        """As a person, heard by the driver at once."""
        commit = await self.world.do(chat.chat_id, *(commands or (Interrupt(),)))
        nudges.hear(commit.chat.version, commit.chat.history_version, commit.chat.status)
        return commit.chat


@asynccontextmanager
async def staged(
    *scripts: Any, tools: Tools | None = None, options: TurnOptions = QUICK, **more: Any
) -> AsyncGenerator[Stage]:
    """A stage; every script must have been asked for when it is left."""
    world = fake_world()
    server = FakeBusServer()
    models = ScriptedModels(*scripts, **more)
    async with server.open() as bus:
        store: Any = world.store
        yield Stage(world, server, bus, TroubledStore(store), models, tools or Functions(), options)
    assert not models.unconsumed, f"{models.unconsumed} scripts were never asked for"


@asynccontextmanager
async def driving(
    stage: Stage, chat: Chat
) -> AsyncGenerator[tuple[asyncio.Task[Chat], Interrupts]]:
    """A drive under way."""
    nudges = Interrupts(chat)
    async with asyncio.TaskGroup() as group:
        yield group.create_task(stage.drive(chat, nudges)), nudges


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_S):
        while True:
            if true():
                return
            await asyncio.sleep(0.001)


def told(body: MessageBody) -> str:
    ending = "" if body.ending.value == "complete" else f" ({body.ending})"
    return f"{body.role}{ending}: " + " + ".join(_told(part) for part in body.parts)


def _told(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case Reasoning(text=text):
            return f"<{text}>"
        case ToolCall(call_id=call_id):
            return f"?{call_id}"
        case ToolResult(call_id=call_id, output=output):
            sign = "!" if part.failed else "="
            return f"{call_id}{sign}{part.synthetic or str(output)[:40]}"
        case _:
            return part.kind


@dataclass
class Effects:
    """Tools that write down what they do."""

    done: list[str] = field(default_factory=list[str])
    again: list[str] = field(default_factory=list[str])
    running: int = 0
    most: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    gated: Sequence[str] = ()

    def tool(self, name: str, effect: Effect = Effect.ONCE, **more: Any) -> Function:
        spec = ToolSpec(name=name, description=name, effect=effect, **more)
        return Function(spec, self._run)

    async def _run(self, run: Run) -> ToolOutput:
        call_id = run.call.call_id
        self.done.append(call_id)
        if run.again:
            self.again.append(call_id)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            run.emit(f"{call_id} runs\n")
            await asyncio.sleep(0)
            if run.call.tool in self.gated:
                await self.gate.wait()
        finally:
            self.running -= 1
        return ToolOutput(f"did {call_id}")


def valid(messages: Sequence[Message]) -> list[str]:
    """What is wrong with a history (M2, M3, S6): every call answered once before the next voice."""
    wrong: list[str] = []
    unanswered: list[CallId] = []
    seen: set[CallId] = set()
    for number, message in enumerate(messages, start=1):
        if message.seq != number:
            wrong.append(f"seq {message.seq} at {number}")
        if number > 1 and message.epoch < messages[number - 2].epoch:
            wrong.append(f"epoch falls at {number}")
        if message.body.role is Role.TOOL:
            for part in message.body.parts:
                assert isinstance(part, ToolResult)
                if part.call_id not in unanswered:
                    wrong.append(f"{part.call_id} was not open at {number}")
                else:
                    unanswered.remove(part.call_id)
            continue
        if unanswered:
            wrong.append(f"{unanswered} unanswered at {number}")
        for call in message.body.calls:
            if call.call_id in seen:
                wrong.append(f"{call.call_id} twice")
            seen.add(call.call_id)
            unanswered.append(call.call_id)
    return wrong + ([f"{unanswered} unanswered at the end"] if unanswered else [])


AT_REST = (Status.IDLE, Status.FAILED, Status.AWAITING)
NEEDS = tuple(need for need in Need if need is not Need.NOTHING)
