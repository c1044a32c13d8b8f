"""PostgreSQL is stopped as a crash would stop it, again and again, while people talk.

Whoever was told that a message is taken finds it afterwards, once and in its place; whoever was
told nothing asks again with the same key.
"""

import asyncio
import random
from dataclasses import dataclass, field
from uuid import uuid4

from holdfast.chats.create import create
from holdfast.chats.send import send
from holdfast.db.pool import PoolOptions, open_pool
from holdfast.db.verify import verify
from holdfast.domain.ids import ChatId, ClientKey
from holdfast.domain.messages import Message, Role
from holdfast.domain.parts import Text
from holdfast.ports.store import Keyed
from holdfast.prove.attack import Found, Order
from holdfast.prove.stage.people import ACTOR, user
from holdfast.prove.stage.theatre import Theatre, theatre
from holdfast.prove.streams.cell import Cell, Plan, cell, surely
from holdfast.prove.turns.trials import words

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


async def crash(order: Order) -> Found:
    async with theatre() as stage, cell(stage, "postgres", CALM) as place:
        return await _crash(stage, place, order)


async def _crash(stage: Theatre, place: Cell, order: Order) -> Found:
    chance, done = random.Random(order.seed), asyncio.Event()
    talks = [await _begin(place) for _ in range(CHATS)]
    async with asyncio.TaskGroup() as tasks:
        for talk in talks:
            tasks.create_task(_talk(place, talk, done))
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
    found.violations += await _broken(place, talks)
    return found


async def _begin(place: Cell) -> Talk:
    token = uuid4().hex
    asked, key = user(_asked(token)), Keyed(ClientKey(token), b"begin")
    ledger, ids = place.server.ledger, place.server.adapters.ids
    made = await surely(lambda: create(ledger, ids, ACTOR, [asked], keyed=key))
    return Talk(made.chat.chat_id, [token])


async def _talk(place: Cell, talk: Talk, done: asyncio.Event) -> None:
    """Says something when it was answered, and now and then before: that waits in the queue."""
    while not done.is_set():
        if len(talk.taken) % 3:
            await place.until_idle(talk.chat_id)
        token = uuid4().hex
        asked, key = user(_asked(token)), Keyed(ClientKey(token), b"send")
        await surely(lambda: send(place.server.ledger, ACTOR, talk.chat_id, asked, keyed=key))  # noqa: B023
        talk.taken.append(token)
    await place.until_idle(talk.chat_id)


def _asked(token: str) -> str:
    return ASKED.format(token=token)


async def _check(place: Cell, talk: Talk, found: Found) -> None:
    history = await _whole(place, talk.chat_id)
    said = [_text(message).split()[0] for message in history if message.body.role is Role.USER]
    if said != talk.taken:
        lost, doubled = set(talk.taken) - set(said), len(said) - len(set(said))
        found.violations.append(f"{len(lost)} taken messages lost, {doubled} doubled, of {said}")
    for message in history:
        if message.body.role is Role.ASSISTANT and _text(message) != ANSWER:
            found.violations.append(f"an answer is not what the model said: {_text(message)!r}")


async def _whole(place: Cell, chat_id: ChatId) -> list[Message]:
    found: list[Message] = []
    while True:
        before = found[0].seq if found else None
        history = place.server.adapters.history
        page = await surely(lambda: history.page(chat_id, limit=200, before=before))  # noqa: B023
        found = [*page.messages, *found]
        if not page.messages or found[0].seq == 1:
            return found


def _text(message: Message) -> str:
    return "".join(part.text for part in message.body.parts if isinstance(part, Text))


async def _broken(place: Cell, talks: list[Talk]) -> list[str]:
    url = str(place.settings["database_url"])
    async with open_pool(url, PoolOptions(connections_min=1, connections_max=1)) as pool:
        broken = await verify(pool, [talk.chat_id for talk in talks])
    return [f"{each.rule} ({each.detail})" for each in broken]
