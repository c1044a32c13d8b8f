"""PostgreSQL is stopped as a crash would stop it, again and again, while people talk.

A client whose message was accepted finds it afterwards, once and in its place; a client without an
answer asks again with the same key.
"""

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import uuid4

from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.adapters.postgres.verify import verify
from holdfast.bootstrap.server import as_they_are
from holdfast.chats.create import create
from holdfast.chats.send import send
from holdfast.domain.ids import ChatId, ClientKey
from holdfast.domain.messages import Message, Role
from holdfast.domain.parts import Text
from holdfast.ports.store import IdempotencyKey
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.streams.cell import Cell, Plan, cell
from holdfast_lab.chaos.faults.workers.trials import words
from holdfast_lab.chaos.harness.asking import surely, whole
from holdfast_lab.chaos.harness.cluster import Theatre, theatre
from holdfast_lab.chaos.harness.people import ACTOR, user
from holdfast_lab.chaos.harness.replica import Around

CHATS = 8
ANSWER = words("w", 30)
ASKED = f'{{token}} [[sim: say "{ANSWER}" | rate=200]]'
BETWEEN_S = (0.2, 1.0)
AWAY_S = (0.0, 0.3)
CALM = Plan(seconds=0, seed=0, readers=0, replicas=0, workers=2, rounds=0)


@dataclass
class Talk:
    """One chat, and what its person was told is taken, in order."""

    chat_id: ChatId
    taken: list[str] = field(default_factory=list[str])


async def crash(order: Order, around: Around = as_they_are) -> Found:
    async with theatre() as stage, cell(stage, "postgres", CALM, around=around) as place:
        return await _crash(stage, place, order)


async def _crash(stage: Theatre, place: Cell, order: Order) -> Found:
    chance, talking, done = random.Random(order.seed), asyncio.Event(), asyncio.Event()
    talks = [await _begin(place) for _ in range(CHATS)]
    async with asyncio.TaskGroup() as tasks:
        for talk in talks:
            tasks.create_task(_talk(place, talk, talking, done))
        await talking.wait()
        for number in range(1, order.count + 1):
            await asyncio.sleep(chance.uniform(*BETWEEN_S))
            await stage.postgres.stop()
            await asyncio.sleep(chance.uniform(*AWAY_S))
            await stage.postgres.start()
            if number % 20 == 0:
                order.say(f"{number} crashes, {sum(len(t.taken) for t in talks)} messages taken")
        done.set()
    found = Found(order.count, figures={"taken": sum(len(talk.taken) for talk in talks)})
    for talk in talks:
        await _check(place, talk, found)
    url = str(place.settings["database_url"])
    found.violations += await broken_rules(url, [talk.chat_id for talk in talks])
    return found


async def _begin(place: Cell) -> Talk:
    token = uuid4().hex
    asked, key = user(_asked(token)), IdempotencyKey(ClientKey(token), b"begin")
    ledger, ids = place.server.ledger, place.server.adapters.ids
    made = await surely(lambda: create(ledger, ids, ACTOR, [asked], keyed=key))
    return Talk(made.chat.chat_id, [token])


async def _talk(place: Cell, talk: Talk, talking: asyncio.Event, done: asyncio.Event) -> None:
    """Says something when it was answered, and now and then before: that waits in the queue."""
    while not done.is_set():
        if len(talk.taken) % 3:
            await place.until_idle(talk.chat_id)
        token = uuid4().hex
        asked, key = user(_asked(token)), IdempotencyKey(ClientKey(token), b"send")
        await surely(lambda: send(place.server.ledger, ACTOR, talk.chat_id, asked, keyed=key))  # noqa: B023
        talk.taken.append(token)
        talking.set()
    await place.until_idle(talk.chat_id)


def _asked(token: str) -> str:
    return ASKED.format(token=token)


async def _check(place: Cell, talk: Talk, found: Found) -> None:
    history = await whole(place.server.adapters.history, talk.chat_id)
    found.violations += differences(history, talk.taken, ANSWER)


def differences(history: list[Message], taken: list[str], answer: str) -> Iterator[str]:
    """Between a history and what its person was told is taken, by first words and in order."""
    said = [_text(message).split()[0] for message in history if message.body.role is Role.USER]
    if said != taken:
        lost, doubled = set(taken) - set(said), len(said) - len(set(said))
        if lost:
            yield f"{len(lost)} taken messages lost, of {said}"
        if doubled:
            yield f"{doubled} messages doubled, of {said}"
        if not (lost or doubled):
            yield f"messages out of order, or never taken: {said} instead of {taken}"
    for message in history:
        if message.body.role is Role.ASSISTANT and _text(message) != answer:
            yield f"an answer is not what the model said: {_text(message)!r}"


def _text(message: Message) -> str:
    return "".join(part.text for part in message.body.parts if isinstance(part, Text))


async def broken_rules(url: str, chat_ids: list[ChatId]) -> list[str]:
    async with open_pool(url, PoolOptions(connections_min=1, connections_max=1)) as pool:
        broken = await verify(pool, chat_ids)
    return [f"{each.rule} ({each.detail})" for each in broken]
