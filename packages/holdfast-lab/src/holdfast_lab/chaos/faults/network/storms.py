"""All readers are cut off at once and back at once, again and again.

What is asked: every word once all the same, few reads of the database for so many that come back,
and an unrelated reader on the same replica, who waits no longer than before.
"""

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from holdfast.chats.create import create
from holdfast.chats.send import send
from holdfast.domain.ids import ChatId, ClientKey
from holdfast.ports.store import IdempotencyKey
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.streams.cell import Cell, Plan, cell, port_of
from holdfast_lab.chaos.faults.streams.readers import SocketReader
from holdfast_lab.chaos.faults.workers.watching import Watching
from holdfast_lab.chaos.harness.asking import surely
from holdfast_lab.chaos.harness.cluster import theatre
from holdfast_lab.chaos.harness.people import ACTOR, user

READERS: Final = 200
STORMS_MIN: Final = 3
CHATS: Final = 25
SAYS: Final = "words=20 | rate=30"
"""Said while all readers reconnect, and slowly enough for so many."""
BACK_S: Final = 0.2
"""All of them, within so much."""
COMMITS: Final = 4
"""Of a turn, at most: what was asked, who drives it, what is answered, and its end."""
READS_MAX: Final = 1 + COMMITS * CHATS / READERS
"""Of the database, for each that comes back: one for what it missed; and where the chat stands,
once for all its readers after every commit that is made while they come."""
CLOSED_PORT: Final = 1
"""A port without a listener."""
SETTLE_S: Final = 60.0
ASKED: Final = "words=8 | rate=80"
CALM_ROUNDS: Final = 2
SLOWER_MAX: Final = 2.0
MARGIN_S: Final = 1.0
ONE_OF_EACH: Final = Plan(seconds=0, seed=1, replicas=1, workers=1)


@dataclass
class Crowd:
    """Who reads on one replica."""

    place: Cell
    chance: random.Random
    chats: list[ChatId] = field(default_factory=list[ChatId])
    readers: list[SocketReader] = field(default_factory=list[SocketReader])
    storms: int = 0
    shut: bool = False
    """A reader of the crowd that connects is refused."""

    @property
    def port(self) -> int:
        return port_of(self.place.replicas[0])

    def door(self) -> list[int]:
        return [CLOSED_PORT] if self.shut else [self.port]

    def reader(self, chat_id: ChatId, seen: Watching | None = None) -> SocketReader:
        return SocketReader(
            chat_id,
            (lambda: [self.port]) if seen is None else self.door,
            random.Random(self.chance.random()),
            cut_every_bytes=None,
            back_s=BACK_S,
            seen=seen or Watching(),
        )

    async def gather(self) -> None:
        self.chats = [await _quiet_chat(self.place) for _ in range(CHATS)]
        told: dict[ChatId, dict[tuple[int, int, int], Any]] = {each: {} for each in self.chats}
        for number in range(READERS):
            chat_id = self.chats[number % CHATS]
            self.readers.append(self.reader(chat_id, Watching(told_others=told[chat_id])))

    @property
    def connections(self) -> int:
        return sum(reader.connections for reader in self.readers)

    async def all_listen(self) -> None:
        for reader in self.readers:
            await reader.seen.until(lambda r=reader: r.events > 0, SETTLE_S)

    async def storm(self) -> None:
        """All readers at once. Before they are back, something is said and stored in every chat, so
        that each has missed something. The next one waits until all is answered: what is said to
        a chat at work is stored later."""
        self.shut = True
        for reader in self.readers:
            reader.cut()
        for chat_id in self.chats:
            await _say(self.place, chat_id, SAYS)
        self.shut = False
        self.storms += 1
        for reader in self.readers:
            await reader.seen.until_idle(2 * self.storms, SETTLE_S)


async def storm(order: Order) -> Found:
    """So many connections are lost in storms."""
    found = Found(0)
    async with theatre() as stage:
        while found.count < order.count:
            async with cell(stage, "redis", ONE_OF_EACH) as place:
                storms = max(STORMS_MIN, min(10, (order.count - found.count) // READERS))
                await storm_on(place, storms, order, found)
            order.say(f"{found.count} connections lost")
    return found


async def storm_on(place: Cell, storms: int, order: Order, found: Found) -> None:
    """Measured on a reader that stays connected: before, and during the storms."""
    crowd = Crowd(place, random.Random(order.seed + found.count))
    bystander = crowd.reader(await _quiet_chat(place))
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(bystander.run())]
        calm_s = [await _round(place, bystander) for _ in range(CALM_ROUNDS)]
        await crowd.gather()
        running += [tasks.create_task(reader.run()) for reader in crowd.readers]
        await crowd.all_listen()
        calm_s += [await _round(place, bystander) for _ in range(CALM_ROUNDS)]
        before, came = await _reads(place), crowd.connections
        stormy_s: list[float] = []
        storming = tasks.create_task(_storms(crowd, storms))
        while not storming.done():
            stormy_s.append(await _round(place, bystander))
        reads, back = await _reads(place) - before, crowd.connections - came
        found.count += back
        found.violations += await _settle(crowd)
        for task in running:
            task.cancel()
    found.violations += bystander.seen.wrong
    _judge(found, reads / back, max(calm_s), max(stormy_s))


async def _storms(crowd: Crowd, storms: int) -> None:
    for _ in range(storms):
        await crowd.storm()


async def _quiet_chat(place: Cell) -> ChatId:
    server = place.server
    return (await create(server.ledger, server.adapters.ids, ACTOR)).chat.chat_id


async def _say(place: Cell, chat_id: ChatId, how: str) -> None:
    token = uuid4().hex
    asked, key = user(f"{token} [[sim: {how}]]"), IdempotencyKey(ClientKey(token), b"send")
    await surely(lambda: send(place.server.ledger, ACTOR, chat_id, asked, keyed=key))


async def _round(place: Cell, bystander: SocketReader) -> float:
    """How long it takes to be answered."""
    began, known = time.monotonic(), len(bystander.seen.messages)
    await _say(place, bystander.chat_id, ASKED)
    await bystander.seen.until_idle(known + 2, SETTLE_S)
    return time.monotonic() - began


async def _reads(place: Cell) -> int:
    replica = place.replicas[0]
    mark = len(replica.heard)
    replica.tell(do="tally")
    return (await replica.says("tally", mark)).what["reads"]


async def _settle(crowd: Crowd) -> list[str]:
    """Every reader knows what is stored, and received every part of it once."""
    wrong: list[str] = []
    for chat_id in crowd.chats:
        await crowd.place.until_idle(chat_id)
        stored = await crowd.place.told(chat_id)
        for reader in crowd.readers:
            if reader.chat_id == chat_id:
                await reader.seen.until_idle(len(stored), SETTLE_S)
                wrong += reader.seen.wrong
                if reader.seen.messages != stored:
                    wrong.append("a reader's history is not the stored one")
    resets = sum(reader.resets for reader in crowd.readers)
    return [*wrong, f"{resets} readers were told to begin anew"] if resets else wrong


def _judge(found: Found, reads_each: float, calm_s: float, stormy_s: float) -> None:
    figures = {"reads_each": reads_each, "calm_max_s": calm_s, "stormy_max_s": stormy_s}
    for name, value in figures.items():
        found.figures[name] = round(max(found.figures.get(name, 0.0), value), 3)
    if reads_each > READS_MAX:
        found.violations.append(f"{reads_each:.2f} reads for each that came back")
    if stormy_s > calm_s * SLOWER_MAX + MARGIN_S:
        found.violations.append(f"others waited {stormy_s:.1f} s in a storm, {calm_s:.1f} before")
