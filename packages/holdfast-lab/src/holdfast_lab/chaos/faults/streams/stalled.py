"""Readers that ask and then never read: what they cost the replica, and the others."""

import asyncio
import random
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

from holdfast.chats.create import create
from holdfast.chats.send import send
from holdfast.domain.ids import ChatId
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.streams.cell import Cell, Plan, cell, port_of
from holdfast_lab.chaos.faults.streams.readers import SocketReader
from holdfast_lab.chaos.harness.cluster import Actor, theatre
from holdfast_lab.chaos.harness.people import ACTOR, user

SAYS = "words=6000 | deltas=24 | rate=12000"
"""A long reply in parts of two kilobytes. Not all at once: after a burst the replica would have so
much memory to spare that whatever stalls seems to cost nothing."""
WINDOW_BYTES = 4_096
"""The kernel's buffer for a client that does not read."""

STALLED_ALONE, STALLED_CROWD = 12, 45
ROUNDS = 5
KB_MAX = 300
KERNEL_KB = 16
QUIET = Plan(
    seconds=0.2,
    seed=1,
    readers=6,
    joining=0,
    chats=3,
    replicas=1,
    workers=1,
    rounds=0,
    words=60,
    catch_up_s=4.0,
)


@dataclass(frozen=True)
class Phase:
    took_s: float
    rss_kb: int
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    kb_each: float
    without_s: float
    """Seconds of a round while all clients read."""
    with_s: float
    wrong: tuple[str, ...]


async def rss_kb(actor: Actor) -> int:
    mark = len(actor.heard)
    actor.tell(do="weigh")
    return (await actor.says("weighs", mark)).what["rss_kb"]


def _say() -> str:
    return f"{uuid4().hex} [[sim: {SAYS}]]"


def _stall(port: int, chat_id: ChatId) -> socket.socket:
    lazy = socket.socket()
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW_BYTES)
    lazy.connect(("127.0.0.1", port))
    lazy.sendall(f"{chat_id} -\n".encode())
    return lazy


async def _phase(place: Cell, chats: int, stalled: int) -> Phase:
    """Rounds of much text, read by one reader of each chat and by so many that never read."""
    ledger, ids, port = place.server.ledger, place.server.adapters.ids, port_of(place.replicas[0])
    chat_ids = [(await create(ledger, ids, ACTOR)).chat.chat_id for _ in range(chats)]
    readers = [
        SocketReader(chat_id, lambda: [port], random.Random(1), cut_every_bytes=None)
        for chat_id in chat_ids
    ]
    lazy = [_stall(port, chat_ids[number % chats]) for number in range(stalled)]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(reader.run()) for reader in readers]
        began = time.monotonic()
        for number in range(1, ROUNDS + 1):
            for chat_id in chat_ids:
                await send(ledger, ACTOR, chat_id, user(_say()))
            for reader in readers:
                await reader.seen.until_idle(2 * number, 60)
        took_s = time.monotonic() - began
        weighs = await rss_kb(place.replicas[0])
        for each in lazy:
            each.close()
        for task in running:
            task.cancel()
    wrong = tuple(sentence for reader in readers for sentence in reader.seen.wrong)
    return Phase(took_s, weighs, wrong)


async def measure(place: Cell) -> tuple[Cost, Cost]:
    """What one costs that is alone with its chat, beside one that reads; and one of fifteen."""
    usual, alone = await measure_alone(place)
    crowd = await _phase(place, 3, STALLED_CROWD)
    return alone, _cost(usual, crowd, STALLED_CROWD)


async def measure_alone(place: Cell) -> tuple[Phase, Cost]:
    usual = await _phase(place, STALLED_ALONE, 0)
    alone = await _phase(place, STALLED_ALONE, STALLED_ALONE)
    return usual, _cost(usual, alone, STALLED_ALONE)


def _cost(usual: Phase, burdened: Phase, stalled: int) -> Cost:
    kb_each = (burdened.rss_kb - usual.rss_kb) / stalled
    return Cost(kb_each, usual.took_s, burdened.took_s, (*usual.wrong, *burdened.wrong))


def wrong_with(cost: Cost) -> Iterator[str]:
    yield from cost.wrong
    if cost.kb_each > KB_MAX:
        yield f"a reader that never reads costs {cost.kb_each:.0f} KB"
    if cost.with_s > cost.without_s * 2 + 2:
        yield f"others waited {cost.with_s:.1f} s for them"


async def stall(order: Order) -> Found:
    """Readers that never read: what each costs, and whether the others wait for them."""
    found = Found(0)
    for _ in range(order.count):
        async with theatre() as stage, cell(stage, "redis", QUIET) as place:
            alone, crowd = await measure(place)
        found.count += STALLED_ALONE + STALLED_CROWD
        each = max(alone.kb_each, crowd.kb_each, found.figures.get("kb_each", 0.0))
        found.figures["kb_each"] = round(each, 1)
        for cost in (alone, crowd):
            found.violations += wrong_with(cost)
        if crowd.kb_each <= KERNEL_KB:
            found.violations.append("the kernel took it all: nothing was measured")
    return found
