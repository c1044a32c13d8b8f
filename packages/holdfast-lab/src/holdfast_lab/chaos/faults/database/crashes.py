"""PostgreSQL is stopped as a crash would stop it, again and again, while people talk.

A client whose message was accepted finds it afterwards, once, in its place and with one whole
answer; a client whose request was not answered sends it again with the same key.
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
from holdfast.domain.messages import Ending, Message, MessageBody, Role
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
    """Between a history and the messages that were taken, by first words and in order; and between
    the answers and what the model says."""
    said = [_text(message).split()[0] for message in history if message.body.role is Role.USER]
    if said != taken:
        lost, doubled = set(taken) - set(said), len(said) - len(set(said))
        if lost:
            yield f"{len(lost)} taken messages lost, of {said}"
        if doubled:
            yield f"{doubled} messages doubled, of {said}"
        if not (lost or doubled):
            yield f"messages out of order, or never taken: {said} instead of {taken}"
    unasked, *answered = _answers(history)
    if unasked:
        yield f"answers before the first message: {unasked}"
    for answers in answered:
        if answers != [answer]:
            yield f"a message is answered by {answers} instead of by what the model said"


def _answers(history: list[Message]) -> list[list[str]]:
    """The answers before the first user message, and those to each user message, in order.

    An outage that is longer than the lease costs a worker its chats. Its successor keeps the words
    that readers were shown as a message of their own, and the model goes on in the next message
    (ADR 0040), with nothing if the words were whole: all of these are one answer.
    """
    answers: list[list[str]] = [[]]
    goes_on = False
    for message in history:
        if message.body.role is Role.USER:
            answers.append([])
            goes_on = False
        elif message.body.role is Role.ASSISTANT:
            begun = answers[-1].pop() if goes_on else ""
            answers[-1].append(begun + _text(message))
            goes_on = _keeps_lost_words(message.body)
    return answers


def _keeps_lost_words(body: MessageBody) -> bool:
    return body.ending is Ending.CUT and body.takeover is not None and body.takeover.kept


def _text(message: Message) -> str:
    return "".join(part.text for part in message.body.parts if isinstance(part, Text))


async def broken_rules(url: str, chat_ids: list[ChatId]) -> list[str]:
    async with open_pool(url, PoolOptions(connections_min=1, connections_max=1)) as pool:
        broken = await verify(pool, chat_ids)
    return [f"{each.rule} ({each.detail})" for each in broken]
