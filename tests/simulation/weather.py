"""What can go wrong between a process and the world, drawn from the seed.

A statement that was sent is the server's: it is carried out even if who sent it was stopped, gave
up or died meanwhile. An answer may be lost, and both may take longer than any lease.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from holdfast.adapters.bus.engine import Deliver, Item
from holdfast.adapters.bus.wire import Topic
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import Episode, Gap, LivePart
from tests.simulation.loop import Handle, Process
from tests.support.fake_bus import FakeBusServer, FakeReceiver, FakeSender

LATE_S_MAX = 15.0
"""A statement that nobody waits for any more is carried out within this, or never: servers limit
how long one may run (`lost_answer_s` counts on it)."""
COMMAND_TIMEOUT_S = 10.0
BUS_TIMEOUT_S = 4.0
SLOW_S = 0.5


@dataclass(slots=True)
class Fate:
    """Of one statement."""

    before_s: float
    after_s: float = 0.0
    done: bool = True
    answered: bool = True
    dies_with_client: bool = False


class Weather:
    """Each seed has a weather of its own: some kinds of trouble often, some not at all."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.calm = False
        self.bus_calm = False

        def some(most: float) -> float:
            return most * chance.random() if chance.random() < 0.6 else 0.0

        self.refused = some(0.06)
        self.unanswered = some(0.06)
        self.stalls = some(0.04)
        self.slow = some(0.2)
        self.bus_faults = some(0.05)
        self.bus_losses = some(0.5) if chance.random() < 0.2 else some(0.04)
        self.bus_delays = some(0.3)
        self.crashes = some(5.0)
        self.partitions = some(4.0)
        self.freezes = some(4.0)
        self.drains = some(2.0)
        self.bus_troubles = some(4.0)

    def fate(self) -> Fate:
        chance = self.chance
        before_s = 0.001 + 0.004 * chance.random()
        if self.calm:
            return Fate(before_s)
        fate = Fate(before_s)
        drawn = chance.random()
        if drawn < self.stalls:
            stall_s = chance.uniform(5.0, 60.0)
            fate.dies_with_client = chance.random() < 0.5
            if chance.random() < 0.5:
                fate.before_s = stall_s
            else:
                fate.after_s = stall_s
        elif drawn < self.stalls + self.refused:
            fate.done = fate.answered = False
        elif drawn < self.stalls + self.refused + self.unanswered:
            fate.answered = False
        elif drawn < self.stalls + self.refused + self.unanswered + self.slow:
            fate.before_s += chance.uniform(0.0, 0.3)
            fate.after_s = chance.uniform(0.0, 0.3)
        return fate

    def strikes(self, likelihood: float) -> bool:
        return not self.calm and self.chance.random() < likelihood

    def pause_s(self) -> float:
        return self.chance.uniform(0.0, 0.3)


class Line:
    """One process's connections to the servers."""

    def __init__(self, process: Process, weather: Weather, see: Callable[[str, str], None]) -> None:
        self.process = process
        self.weather = weather
        self._see = see
        self.cut_until_s = 0.0
        """What is sent before that arrives then, as late as that is."""
        self._slow: dict[Handle, float] = {}

    def hurry(self) -> None:
        """Statements and answers that are still on their way arrive now."""
        self.cut_until_s = 0.0
        loop = asyncio.get_running_loop()
        slow, self._slow = self._slow, {}
        for handle, at_s in slow.items():
            if not handle.is_cancelled and at_s > loop.time():
                loop.call_soon(handle.callback, *handle.args, context=_WORLD.context)
                handle.cancel()

    def _later(self, pause_s: float, callback: Callable[..., None], *args: Any) -> Handle:
        loop = asyncio.get_running_loop()
        handle: Any = loop.call_later(pause_s, callback, *args, context=_WORLD.context)
        if pause_s > SLOW_S:
            self._slow[handle] = loop.time() + pause_s
        return handle

    async def ask(
        self, name: str, method: Callable[..., Awaitable[Any]], /, *args: Any, **more: Any
    ) -> Any:
        """One statement."""
        if self.process.dead:
            await asyncio.sleep(1.0)
            raise Unavailable("nobody is there to ask")
        fate = self.weather.fate()
        loop = asyncio.get_running_loop()
        if self.cut_until_s > loop.time():
            fate.before_s += self.cut_until_s - loop.time()
        answer: asyncio.Future[Any] = loop.create_future()

        def serve() -> None:
            result: Any = None
            if fate.done:
                result = now(method(*args, **more))
                self._see(self.process.name, name)
            if not fate.answered:
                result = Unavailable(f"{name} was not answered")
            if fate.after_s and not self.weather.calm:
                self._later(fate.after_s, _tell, answer, result)
            else:
                _tell(answer, result)

        sent = self._later(fate.before_s, serve)
        try:
            if fate.before_s + fate.after_s < SLOW_S:
                return await answer
            async with asyncio.timeout(COMMAND_TIMEOUT_S):
                return await answer
        except TimeoutError:
            self._give_up(sent, fate)
            raise Unavailable(f"{name} took too long") from None
        except asyncio.CancelledError:
            self._give_up(sent, fate)
            raise

    def _give_up(self, sent: Handle, fate: Fate) -> None:
        if fate.dies_with_client or fate.before_s > LATE_S_MAX:
            sent.cancel()


class _World:
    """What is outside of every process."""

    def __init__(self) -> None:
        self.context = Process("world").context


_WORLD = _World()


def _tell(answer: "asyncio.Future[Any]", result: Any) -> None:
    if answer.done():
        return
    if isinstance(result, Unavailable):
        answer.set_exception(result)
    else:
        answer.set_result(result)


def now(work: Awaitable[Any]) -> Any:
    """The result of something in memory that never waits."""
    running: Any = work
    try:
        running.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("a fake that waits")


class Ported:
    """Any port of the store, over a line."""

    def __init__(self, line: Line, target: object) -> None:
        self._line = line
        self._target = target

    def __getattr__(self, name: str) -> Any:
        asked = partial(self._line.ask, name, getattr(self._target, name))
        self.__dict__[name] = asked
        return asked


class Engine:
    """The bus's server, as one process reaches it."""

    faults = FakeBusServer.faults

    def __init__(self, server: FakeBusServer, line: Line) -> None:
        self._server = server
        self._line = line
        self._storm_trips = 0

    @property
    def is_clear(self) -> bool:
        """Whether no trip that began in the storm is still under way. A send that stalls holds back
        the hints of the calm, until it fails after `BUS_TIMEOUT_S`."""
        return self._storm_trips == 0

    @asynccontextmanager
    async def connect_sender(self) -> AsyncGenerator["_Sender"]:
        await self.trip()
        async with self._server.connect_sender() as sender:
            yield _Sender(sender, self)

    @asynccontextmanager
    async def connect_receiver(self, deliver: Deliver) -> AsyncGenerator["_Receiver"]:
        await self.trip()
        mail = _Mail(self._line, deliver)
        async with self._server.connect_receiver(mail.put) as receiver:
            yield _Receiver(receiver, self)

    async def trip(self) -> None:
        """To the server, if one gets there."""
        if self._line.process.dead:
            raise ConnectionError("nobody is there to connect")
        weather = self._line.weather
        in_storm = not weather.calm
        fate = weather.fate()
        self._storm_trips += in_storm
        try:
            await asyncio.sleep(min(fate.before_s, BUS_TIMEOUT_S))
        finally:
            self._storm_trips -= in_storm
        if fate.before_s > BUS_TIMEOUT_S or weather.strikes(weather.bus_faults):
            raise ConnectionError("no way")
        if self._line.process.dead:
            raise ConnectionError("died on the way")

    def is_lost(self) -> bool:
        return self._line.weather.strikes(self._line.weather.bus_faults)


class _Sender:
    def __init__(self, sender: FakeSender, engine: Engine) -> None:
        self._sender = sender
        self._engine = engine

    async def send(self, batch: Sequence[Item]) -> None:
        await self._engine.trip()
        await self._sender.send(batch)
        if self._engine.is_lost():
            raise ConnectionError("sent, but who knows")


class _Receiver:
    def __init__(self, receiver: FakeReceiver, engine: Engine) -> None:
        self._receiver = receiver
        self._engine = engine

    async def watch(self, topics: Collection[Topic]) -> None:
        await self._engine.trip()
        await self._receiver.watch(topics)

    async def unwatch(self, topics: Collection[Topic]) -> None:
        await self._receiver.unwatch(topics)

    async def run(self) -> None:
        await self._receiver.run()

    async def read_live(
        self, chat_id: ChatId, episode: Episode, after_seq: int
    ) -> Sequence[LivePart]:
        await self._engine.trip()
        parts = await self._receiver.read_live(chat_id, episode, after_seq)
        if self._engine.is_lost():
            raise ConnectionError("the answer is lost")
        return parts


class _Mail:
    """From the server to one process: in order, sometimes late, now and then never."""

    def __init__(self, line: Line, deliver: Deliver) -> None:
        self._line = line
        self._deliver = deliver
        self._last_s = 0.0

    def put(self, topic: Topic, news: Item | Gap) -> None:
        weather = self._line.weather
        lost = not weather.bus_calm and weather.chance.random() < weather.bus_losses
        if self._line.process.dead or lost:
            return
        loop = asyncio.get_running_loop()
        at_s = loop.time()
        if weather.strikes(weather.bus_delays):
            at_s += weather.pause_s()
        if self._last_s >= at_s:
            at_s = self._last_s + 1e-6  # of two timers for one moment either may be first
        if at_s > loop.time():
            self._last_s = at_s
            loop.call_at(at_s, self._deliver, topic, news, context=_WORLD.context)
        else:
            self._deliver(topic, news)
