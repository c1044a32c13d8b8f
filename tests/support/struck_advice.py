"""A worker that ends at one boundary of a turn with an advisor, and another one that goes on.

The agent asks six times: the first call fails each time it is tried, two are answered, and the cap
of two refuses the others. Whichever worker drives the turn, these are its results.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from holdfast.domain.chat import Chat, Status
from holdfast.domain.messages import Message, MessageBody
from holdfast.domain.outcome import Outcome
from holdfast.domain.parts import Text, ToolResult
from holdfast.ports.models import NO_ROUTE, Ask, Route, Usage
from holdfast.tools.advisor import Advisor
from holdfast.turn.interrupts import Interrupts
from tests.support.advising import TERMS, HandClock, asks_advisor, settings_of
from tests.support.builders import user
from tests.support.fake_bus import FakeBusServer
from tests.support.scripted import Failed, Item, ScriptedStream, says
from tests.support.stage import Stage, TroubledStore, valid
from tests.support.struck import Life, MortalBus, MortalModels, MortalStore
from tests.support.waits import HANG_S
from tests.support.world import World

CALLS: Final = 6
CAP: Final = 2
WANTED: Final = ("error", "advice", "advice", *("limit_reached",) * (CALLS - 3))


@dataclass
class AskingModel:
    """The agent. It knows nothing but its prompt, so a successor goes on where the turn stands."""

    asked: list[Ask] = field(default_factory=list[Ask])

    def stream(self, ask: Ask) -> ScriptedStream:
        self.asked.append(ask)
        number = len(typed_results(ask.history)) + 1
        if number > CALLS:
            return ScriptedStream(says("Done."))
        call_id = f"a{number}.{len(ask.history)}"
        return ScriptedStream(asks_advisor(call_id, question=f"Question {number}?"))

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        return None

    def context_window(self, model: str | None) -> int | None:
        return None

    def route(self, model: str | None) -> Route:
        return NO_ROUTE


class Oracle(AskingModel):
    """The advisor: it never answers the first question."""

    def stream(self, ask: Ask) -> ScriptedStream:  # pyright: ignore[reportImplicitOverride]
        self.asked.append(ask)
        script: list[Item] = [*says("Go ", "left.")]
        (said,) = ask.history[0].parts
        if isinstance(said, Text) and said.text.endswith("<question>\nQuestion 1?\n</question>"):
            script = [Failed(retryable=False)]
        return ScriptedStream(script)


@dataclass
class Whole:
    """Marks the boundaries of the advisor's call in the life of a worker."""

    life: Life

    async def reach(self, what: str) -> None:
        await self.life.reach(f"advisor: {what}")


class StoreOfWholeTurn(MortalStore):
    """Every boundary of the turn counts, and not only those of a compaction."""

    async def commit(self, outcome: Outcome, **more: Any) -> Any:  # pyright: ignore[reportImplicitOverride]
        await self._life.reach("before a commit")
        stamp = await self._store.commit(outcome, **more)
        await self._life.reach("after a commit")
        return stamp


@dataclass(frozen=True)
class AdviceTrial:
    """`boundaries`: how many the worker passed. `ended_at`: None: the turn has fewer. `over_cap`:
    advices in the turn beyond the cap."""

    boundaries: int
    ended_at: str | None
    over_cap: int
    asked: int
    wrong: list[str]

    @property
    def in_mid_advice(self) -> bool:
        return self.ended_at is not None and self.ended_at.startswith("advisor: ")


async def strike_advice(world: World, ends_at: int) -> AdviceTrial:
    """One turn whose first worker ends at this boundary; what is wrong with what comes of it."""
    server, life, oracle = FakeBusServer(), Life(ends_at, compacting=True), Oracle()
    marked: Any = Whole(life)
    async with server.open() as bus:
        mortal: Any = (MortalBus(bus, life), StoreOfWholeTurn(world, life))
        models: Any = (MortalModels(AskingModel(), life), MortalModels(oracle, marked))  # pyright: ignore[reportArgumentType]
        first = _stage(world, server, mortal[0], mortal[1], models[0], models[1])
        second = _stage(world, server, bus, MortalStore(world, Life()), AskingModel(), oracle)

        created = await world.create(user("Find the way."))
        acquired = await world.acquire(await world.a_worker())
        chat = next(each for each in acquired if each.chat_id == created.chat_id)
        life.task = asyncio.create_task(first.driver.drive(chat, Interrupts(chat)))
        async with asyncio.timeout(HANG_S):
            await asyncio.wait({life.task})
        if life.ended_at is None:
            life.task.result()
        if (await world.load(chat.chat_id)).status is Status.RUNNING:
            await second.drive(await second.again(await world.load(chat.chat_id)))
    history = await world.read(chat.chat_id)
    wrong = _wrong(await world.load(chat.chat_id), history)
    wrong += await world.violations([chat.chat_id])
    given = kinds(history).count("advice")
    return AdviceTrial(
        len(life.passed), life.ended_at, max(given - CAP, 0), len(oracle.asked), wrong
    )


def _stage(
    world: World, server: FakeBusServer, bus: Any, store: Any, models: Any, oracle: Any
) -> Stage:
    advisor = Advisor(oracle, HandClock(), lambda _: TERMS, first_delay_s=0.001)
    stage = Stage(world, server, bus, TroubledStore(store), models, advisor)
    return stage.with_settings(settings_of(TERMS))


def _wrong(chat: Chat, history: Sequence[Message]) -> list[str]:
    wrong = [] if chat.status is Status.IDLE else [f"it ended {chat.status}: {chat.error}"]
    if tuple(kinds(history)) != WANTED:
        wrong.append(f"results {kinds(history)}")
    if chat.advised != CAP:
        wrong.append(f"{chat.advised} uses are counted")
    return wrong + valid(history)


def kinds(history: Sequence[Message]) -> list[str]:
    return typed_results([message.body for message in history])


def typed_results(bodies: Sequence[MessageBody]) -> list[str]:
    """What the calls that were run came to: one that a dead worker never ran has only words."""
    parts = (part for body in bodies for part in body.parts if isinstance(part, ToolResult))
    outputs: list[Any] = [part.output for part in parts]
    return [output["type"] for output in outputs if isinstance(output, dict)]
