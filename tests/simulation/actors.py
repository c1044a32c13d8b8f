"""A model that says anything, and tools whose effects are counted where they happen."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.domain.chat import ATTEMPTS_MAX, Chat, ErrorKind
from holdfast.domain.ids import CallId, ChatId, WorkerId
from holdfast.domain.messages import Ending, Role
from holdfast.domain.parts import Need
from holdfast.ports.bus import Episode
from holdfast.ports.models import NO_ROUTE, Ask, ReasoningDelta, Route, TextDelta, Usage
from holdfast.ports.tools import Effect, Run, ToolOutput, ToolSpec
from holdfast.tools.toolbox import Function, Functions
from tests.simulation.store import OpenStore
from tests.simulation.weather import Line
from tests.support.scripted import End, Failed, Item, Pause, ScriptedStream, call

if TYPE_CHECKING:
    from collections.abc import Callable

REPLIES_MAX = 3
TOOLS = ("once", "once", "keyed", "repeatable", "gated")


@dataclass
class Outside:
    """What models and tools did, as the world saw it."""

    store: OpenStore
    problems: list[str]
    effects: Counter[tuple[ChatId, CallId]] = field(default_factory=Counter[tuple[ChatId, CallId]])
    episodes: Counter[tuple[ChatId, Episode]] = field(
        default_factory=Counter[tuple[ChatId, Episode]]
    )
    calls: int = 0
    asked: int = 0

    async def effect(self, chat_id: ChatId, call_id: CallId) -> None:
        self.effects[chat_id, call_id] += 1

    def check_lease(self, line: Line, worker_id: WorkerId | None, what: str) -> None:
        """Who lost its lease begins nothing; who was stopped cannot know, the moment it wakes."""
        loop = asyncio.get_running_loop()
        until = None if worker_id is None else self.store.lease_of(worker_id)
        now = self.store.now()
        if (until is None or until < now) and loop.time() > line.process.woke_s + 0.5:
            self.problems.append(
                f"{line.process.name} began {what} at {loop.time():.3f} without a lease (S4)"
            )


class RandomModels:
    def __init__(self, outside: Outside, line: Line, chance: random.Random) -> None:
        self._outside = outside
        self._line = line
        self._chance = chance
        self.worker_id: Callable[[], WorkerId | None] = lambda: None

    def stream(self, ask: Ask) -> ScriptedStream:
        outside = self._outside
        outside.asked += 1
        worker_id = self.worker_id()
        outside.check_lease(self._line, worker_id, "an attempt")
        chat = outside.store.peek(ask.chat_id)
        if chat.worker_id == worker_id and not self._line.process.dead:
            self._check_counted(ask, chat)
        return ScriptedStream(self._script(ask))

    def _check_counted(self, ask: Ask, chat: Chat) -> None:
        """Every attempt is counted before it is made, and their number is bounded (P3)."""
        outside = self._outside
        if outside.store.visible(ask.chat_id)[-1].body != ask.history[-1]:
            return  # edited a moment ago: this attempt will come to nothing
        episode = Episode.of(chat)
        outside.episodes[ask.chat_id, episode] += 1
        if outside.episodes[ask.chat_id, episode] > 1:
            outside.problems.append(f"two calls of the model in one attempt: {episode} (P3)")
        if chat.attempt == 0 or chat.attempt - chat.attempts_forgiven > ATTEMPTS_MAX:
            outside.problems.append(f"attempt {chat.attempt} was made (P3)")

    def _script(self, ask: Ask) -> list[Item]:
        chance = self._chance
        items: list[Item] = []
        if chance.random() < 0.08:
            return [self._failure()]
        index = 0
        if chance.random() < 0.2:
            items += [ReasoningDelta(0, "hm "), self._pause()]
            index = 1
        for number in range(chance.randint(1, 5)):
            items += [TextDelta(index, f"w{self._outside.asked}.{number} "), self._pause()]
        drawn = chance.random()
        if drawn < 0.08:
            return [*items, self._failure()]
        if drawn < 0.12:
            return items  # ends without saying so
        replies = 0
        for body in reversed(ask.history):
            if body.role is Role.USER:
                break
            replies += body.role is Role.ASSISTANT
        if replies < REPLIES_MAX and chance.random() < 0.45:
            for _ in range(chance.randint(1, 2)):
                self._outside.calls += 1
                index += 1
                tool = chance.choice(TOOLS)
                items += call(index, tool, f"call{self._outside.calls}")
        return [*items, End(Ending.CUT if chance.random() < 0.02 else Ending.COMPLETE)]

    def _pause(self) -> Pause:
        chance = self._chance
        return Pause(chance.uniform(2.0, 8.0) if chance.random() < 0.06 else chance.random() * 0.4)

    def _failure(self) -> Failed:
        return Failed(ErrorKind.OVERLOADED, retryable=self._chance.random() < 0.8)

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        return None

    def context_window(self, model: str | None) -> int | None:
        return None

    def route(self, model: str | None) -> Route:
        return NO_ROUTE


def counted_tools(outside: Outside, line: Line, chance: random.Random) -> Functions:
    async def run(run: Run) -> ToolOutput:
        outside.check_lease(line, run.chat.worker_id, f"{run.call.tool} {run.call.call_id}")
        run.emit("working\n")
        await asyncio.sleep(chance.uniform(2.0, 12.0) if chance.random() < 0.2 else chance.random())
        if line.process.dead:
            await asyncio.sleep(3600)
        await outside.effect(run.chat.chat_id, run.call.call_id)
        await asyncio.sleep(chance.random() * (5.0 if chance.random() < 0.2 else 0.1))
        return ToolOutput("done", failed=chance.random() < 0.1)

    def tool(name: str, effect: Effect, needs: Need = Need.NOTHING) -> Function:
        return Function(ToolSpec(name=name, description=name, effect=effect, needs=needs), run)

    return Functions(
        tool("once", Effect.ONCE),
        tool("keyed", Effect.KEYED),
        tool("repeatable", Effect.REPEATABLE),
        tool("gated", Effect.ONCE, Need.APPROVAL),
    )
