"""A worker that ends at one boundary of a turn that ends with its plan, and another that goes on.

The agent looks, and proposes a plan; a message that waits turns plan mode off, and its turn changes
something. Whichever worker drives them, the plan is there once, and each turn is in its own mode.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import SendMessage
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.parts import ToolResult
from holdfast.domain.plan_mode import PROPOSE_PLAN
from holdfast.ports.models import NO_ROUTE, Ask, Route, Usage
from holdfast.ports.tools import looks
from holdfast.tools.toolbox import Functions
from holdfast.turn.interrupts import Interrupts
from tests.support.builders import user
from tests.support.fake_bus import FakeBusServer
from tests.support.scripted import ScriptedStream, calls, says
from tests.support.stage import Effects, Stage, TroubledStore, valid
from tests.support.struck import Life, MortalBus, MortalModels, MortalStore
from tests.support.struck_advice import StoreOfWholeTurn
from tests.support.waits import HANG_S
from tests.support.world import World

WANTED: Final = ("look", PROPOSE_PLAN, "change")


@dataclass
class PlanningModel:
    """The agent. It knows nothing but its prompt, so a successor goes on where the turn stands."""

    asked: list[Ask] = field(default_factory=list[Ask])

    def stream(self, ask: Ask) -> ScriptedStream:
        self.asked.append(ask)
        number = len(tools_answered(ask.history))
        if number == len(WANTED):
            return ScriptedStream(says("Done."))
        # An id that no other attempt at this step has had.
        return ScriptedStream(calls(f"{WANTED[number]}:{number}.{len(self.asked)}"))

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        return None

    def context_window(self, model: str | None) -> int | None:
        return None

    def route(self, model: str | None) -> Route:
        return NO_ROUTE


@dataclass(frozen=True)
class PlanTrial:
    """`boundaries`: how many the worker passed. `ended_at`: None: the turns have fewer. `asked`:
    how often the model was asked, by both workers."""

    boundaries: int
    ended_at: str | None
    asked: int
    wrong: list[str]


async def strike_plan(world: World, ends_at: int) -> PlanTrial:
    """Two turns whose first worker ends at this boundary; what is wrong with what comes of it."""
    server, life, model = FakeBusServer(), Life(ends_at, compacting=True), PlanningModel()
    tools = _tools(Effects())
    async with server.open() as bus:
        mortal: Any = (MortalBus(bus, life), StoreOfWholeTurn(world, life))
        models: Any = MortalModels(model, life)  # pyright: ignore[reportArgumentType]
        first = Stage(world, server, mortal[0], TroubledStore(mortal[1]), models, tools)
        again: Any = (model, MortalStore(world, Life()))
        second = Stage(world, server, bus, TroubledStore(again[1]), again[0], tools)

        created = await world.create(user("Plan it.", plan_mode=True))
        waits = SendMessage(user("Do it.", plan_mode=False))
        await world.do(created.chat_id, waits)
        acquired = await world.acquire(await world.a_worker())
        chat = next(each for each in acquired if each.chat_id == created.chat_id)
        life.task = asyncio.create_task(first.driver.drive(chat, Interrupts(chat)))
        async with asyncio.timeout(HANG_S):
            await asyncio.wait({life.task})
        if life.ended_at is None:
            life.task.result()
        wrong = _left(await world.load(chat.chat_id), await world.read(chat.chat_id))
        if (await world.load(chat.chat_id)).status is Status.RUNNING:
            await second.drive(await second.again(await world.load(chat.chat_id)))
    wrong += _ended(await world.load(chat.chat_id), await world.read(chat.chat_id))
    wrong += await world.violations([chat.chat_id])
    return PlanTrial(len(life.passed), life.ended_at, len(model.asked), wrong)


def _tools(effects: Effects) -> Functions:
    return Functions(
        effects.tool("look", in_plan_mode=looks),
        effects.tool("change"),
        effects.tool(PROPOSE_PLAN, in_plan_mode=looks, plan_mode_only=True),
    )


def _left(chat: Chat, history: Sequence[Message]) -> list[str]:
    """Each turn is in the mode of its message, also between two workers."""
    turn = next(message for message in history if message.seq == chat.turn_seq)
    same = chat.plan_mode is turn.body.plan_mode
    return [] if same else [f"turn {chat.turn_seq} is in another mode than its message"]


def _ended(chat: Chat, history: Sequence[Message]) -> list[str]:
    wrong = [] if chat.status is Status.IDLE else [f"it ended {chat.status}: {chat.error}"]
    wrong += ["the chat is still in plan mode"] if chat.plan_mode else []
    bodies = [message.body for message in history if message.body.role is not Role.SYSTEM]
    if tuple(tools_answered(bodies)) != WANTED:
        wrong.append(f"results {tools_answered(bodies)}")
    said = [index for index, body in enumerate(bodies) if body.role is Role.USER]
    if len(said) != 2:
        wrong.append("a message of a person is lost, or twice")
    elif tools_answered(bodies[said[1] - 1 : said[1]]) != [PROPOSE_PLAN]:
        wrong.append("the plan is not the end of its turn")
    return wrong + valid(history)


def tools_answered(bodies: Sequence[MessageBody]) -> list[str]:
    """The tools whose calls were run: one that a dead worker never ran has only words."""
    parts = (part for body in bodies for part in body.parts if isinstance(part, ToolResult))
    return [part.tool for part in parts if part.synthetic is None and not part.failed]
