"""A worker that ends at one boundary of a compaction, and another one that goes on.

A boundary is right before or after each wait for the store, the bus or the model, from the commit
that decides on a summary to the one that stores it. From there on the worker reaches nothing any
more: whatever it still tries is refused, as from a process that was killed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Any, Final, Self

from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import RequestCompaction
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.outcome import Outcome
from holdfast.domain.parts import Text
from holdfast.ports.bus import LivePart
from holdfast.ports.models import Ask
from holdfast.tools.toolbox import Functions
from holdfast.turn.interrupts import Interrupts
from tests.support.builders import reply, system, user
from tests.support.fake_bus import FakeBusServer
from tests.support.stage import Stage, TroubledStore, valid
from tests.support.waits import HANG_S
from tests.support.windowed import UnknownWindow, Work, WorkingModel
from tests.support.world import World

STEPS: Final = 3
RULES: Final = "Be brief."


@dataclass
class Life:
    """Counts the boundaries that a worker passes, and ends it at one. `ends_at` 0: at none."""

    ends_at: int = 0
    passed: list[str] = field(default_factory=list[str])
    compacting: bool = False
    ended_at: str | None = None
    task: asyncio.Task[Chat] | None = None

    async def reach(self, what: str) -> None:
        if self.ended_at is None and self.compacting:
            self.passed.append(what)
            if len(self.passed) == self.ends_at:
                self.ended_at = what
                assert self.task is not None
                self.task.cancel()
        if self.ended_at is not None:
            raise asyncio.CancelledError
        await asyncio.sleep(0)


class MortalStore:
    def __init__(self, world: World, life: Life) -> None:
        self._store: Any = world.store
        self._history: Any = world.history
        self._life = life

    async def commit(self, outcome: Outcome, **more: Any) -> Any:
        life = self._life
        life.compacting |= outcome.chat.compaction_requested
        await life.reach("before a commit")
        stamp = await self._store.commit(outcome, **more)
        await life.reach("after a commit")
        life.compacting = outcome.chat.compaction_requested
        return stamp

    async def load(self, *args: Any, **more: Any) -> Any:
        return await self._read(self._store.load, *args, **more)

    async def page(self, *args: Any, **more: Any) -> Any:
        return await self._read(self._history.page, *args, **more)

    async def _read(self, read: Callable[..., Any], *args: Any, **more: Any) -> Any:
        await self._life.reach("before a read")
        found = await read(*args, **more)
        await self._life.reach("after a read")
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store if hasattr(self._store, name) else self._history, name)


class MortalBus:
    def __init__(self, bus: Any, life: Life) -> None:
        self._bus = bus
        self._life = life

    async def append(self, parts: Sequence[LivePart]) -> None:
        await self._life.reach("before readers are told")
        await self._bus.append(parts)
        await self._life.reach("after readers were told")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)


class MortalModels:
    def __init__(self, models: WorkingModel, life: Life) -> None:
        self._models = models
        self._life = life

    def stream(self, ask: Ask) -> "MortalStream":
        return MortalStream(self._models.stream(ask), self._life)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._models, name)


class MortalStream:
    def __init__(self, stream: Any, life: Life) -> None:
        self._stream = stream
        self._life = life

    async def __aenter__(self) -> Self:
        await self._life.reach("before the model is asked")
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stream.__aexit__(kind, error, traceback)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for event in self._stream:
            await self._life.reach("while the model speaks")
            yield event
        await self._life.reach("after the model has spoken")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@dataclass(frozen=True)
class Scene:
    """A chat that is compacted, and why. `asked`: a person asks for it."""

    name: str
    model: Callable[[], WorkingModel]
    before: tuple[MessageBody, ...] = ()
    asked: bool = False


_LONG: Final = (reply("x" * 60_000), *(user(f"Question {n}: " + "y" * 8_000) for n in range(6)))
SCENES: Final = (
    Scene("over the threshold", lambda: WorkingModel(STEPS, step_bytes=20_000)),
    Scene("a person asks", lambda: WorkingModel(STEPS), asked=True),
    Scene("refused as too long", lambda: UnknownWindow(STEPS), (user("hello"), *_LONG)),
    Scene("in pieces", lambda: WorkingModel(STEPS), (user("hello"), *_LONG)),
)


@dataclass(frozen=True)
class Trial:
    """`boundaries`: how many the worker passed. `ended_at`: None: the turn has fewer. `summaries`:
    that were stored."""

    boundaries: int
    ended_at: str | None
    summaries: int
    wrong: list[str]


async def strike(scene: Scene, world: World, ends_at: int) -> Trial:
    """One chat whose first worker ends at this boundary; what is wrong with what it leaves, and
    with what its successor makes of it."""
    server, life = FakeBusServer(), Life(ends_at)
    model, work = scene.model(), Work()
    tools = Functions(work.tool())
    async with server.open() as bus:
        mortal: Any = (MortalBus(bus, life), MortalStore(world, life), MortalModels(model, life))
        first = Stage(world, server, mortal[0], TroubledStore(mortal[1]), mortal[2], tools)
        store: Any = MortalStore(world, Life())
        second = Stage(world, server, bus, TroubledStore(store), model, tools)

        chat = await _begun(scene, world)
        life.compacting = chat.compaction_requested
        life.task = asyncio.create_task(first.driver.drive(chat, Interrupts(chat)))
        async with asyncio.timeout(HANG_S):
            await asyncio.wait({life.task})
        if life.ended_at is None:
            life.task.result()
        wrong = _left(await world.load(chat.chat_id), await world.read(chat.chat_id))
        if (await world.load(chat.chat_id)).status is Status.RUNNING:
            await second.drive(await second.again(await world.load(chat.chat_id)))
    history = await world.read(chat.chat_id)
    wrong += _ended(await world.load(chat.chat_id), history, scene)
    wrong += [f"steps {work.done}"] if work.done != list(range(1, STEPS + 1)) else []
    wrong += [] if _has_rules(model.asked[-1]) else ["the system message is gone"]
    wrong += await world.violations([chat.chat_id])
    summaries = sum(message.body.role is Role.BOUNDARY for message in history)
    return Trial(len(life.passed), life.ended_at, summaries, wrong)


def _has_rules(ask: Ask) -> bool:
    return any(body.role is Role.SYSTEM and Text(RULES) in body.parts for body in ask.history)


async def _begun(scene: Scene, world: World) -> Chat:
    created = await world.create(system(RULES), *scene.before, user("Do all the steps."))
    if scene.asked:
        await world.do(created.chat_id, RequestCompaction(keep="the steps"))
    acquired = await world.acquire(await world.a_worker())
    return next(chat for chat in acquired if chat.chat_id == created.chat_id)


def _left(chat: Chat, history: Sequence[Message]) -> list[str]:
    """All of a compaction, or nothing of it."""
    stored = history[-1].body.role in {Role.BOUNDARY, Role.SYSTEM} and any(
        message.body.role is Role.BOUNDARY for message in history[-2:]
    )
    if stored and chat.compaction_requested:
        return ["a summary is stored, and is still to be made"]
    if chat.compaction_requested and chat.compaction is None:
        return ["a summary is to be made, and its reason is lost"]
    return []


def _ended(chat: Chat, history: Sequence[Message], scene: Scene) -> list[str]:
    wrong = [] if chat.status is Status.IDLE else [f"it ended {chat.status}: {chat.error}"]
    wrong += ["a request outlives its turn"] if chat.compaction_requested else []
    asked = sum(body.role is Role.USER for body in scene.before) + 1
    if [message.body.role for message in history].count(Role.USER) != asked:
        wrong.append("a message of a person is lost, or twice")
    said = [message for message in history if message.body.role is not Role.SYSTEM]
    for one, two in pairwise(said):
        if one.body.role is two.body.role is Role.BOUNDARY:
            wrong.append("two summaries of the same")
    for message in said:
        text = message.body.parts[0]
        if message.body.role is Role.BOUNDARY and not (isinstance(text, Text) and text.text):
            wrong.append("a summary of no words")
    return wrong + valid(history)
