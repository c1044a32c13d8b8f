"""The answer to a commit gets lost on its way: the commit is done, and the caller does not know.

People ask again with the same key, workers look what became of it. Nothing may happen twice.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar
from uuid import uuid4

from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.adapters.postgres.verify import verify
from holdfast.bootstrap import Adapters, Server, open_server
from holdfast.chats.create import create
from holdfast.chats.send import send
from holdfast.domain.chat import Status
from holdfast.domain.errors import Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey, UserId, VersionStamp
from holdfast.domain.messages import Role
from holdfast.domain.outcome import Answer, Outcome
from holdfast.domain.parts import Text
from holdfast.ports.store import (
    JUST_THE_CHAT,
    Created,
    IdempotencyKey,
    Loaded,
    LoadQuery,
    Stamp,
    Store,
)
from holdfast.settings import Settings
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.workers.trials import settings_for
from holdfast_lab.chaos.harness.cluster import theatre
from holdfast_lab.chaos.harness.people import ACTOR, ORG, OWNER, add_user, user

ANSWER = TypeVar("ANSWER")
LOST_TO_PEOPLE = 0.5
LOST_TO_WORKERS = 0.05
"""Of all answers; a worker in doubt loads everything anew, so that more would only be slow."""
SENDERS = 8
MESSAGES = 10
"""In a chat, before another one is begun; most wait in its queue."""
ASKED = "{token} [[sim: words=3]]"
SETTLE_S = 120.0


@dataclass
class Losing:
    """A store that does what it is asked, and then now and then says that it cannot tell."""

    inner: Store
    chance: random.Random
    lost: int = 0
    forgets_keys: bool = False
    """The mutant: a repeat is taken for a new request."""

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        return await self.inner.load(chat_id, asking)

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        return await self.inner.find_created(owner_id, key)

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        return await self.inner.keep_receipt(chat_id, keyed, answer, stamp)

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        stamp = await self.inner.create(outcome, keyed)
        self._answer(stamp, LOST_TO_PEOPLE)
        return stamp

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        key = None if self.forgets_keys else keyed
        stamp = await self.inner.commit(outcome, fence=fence, keyed=key)
        self._answer(stamp, LOST_TO_PEOPLE if fence is None else LOST_TO_WORKERS)
        return stamp

    def _answer(self, stamp: Stamp | None, share: float) -> None:
        """Lost or not; None: nothing was committed, so there is nothing to lose."""
        if stamp is not None and self.chance.random() < share:
            self.lost += 1
            raise Unavailable("the answer was lost")


@dataclass
class Post:
    """People who send until enough was lost, and what they were told is taken."""

    server: Server
    store: Losing
    order: Order
    taken: dict[ChatId, list[str]] = field(default_factory=dict[ChatId, list[str]])

    async def send_on(self) -> None:
        while self.store.lost < self.order.count:
            chat_id = await self._begin()
            for _ in range(MESSAGES):
                await self._send(chat_id)
            if len(self.taken) % 100 == 0:
                self.order.say(f"{self.store.lost} answers lost in {len(self.taken)} chats")
            await self._until_idle(chat_id)

    async def _begin(self) -> ChatId:
        token = uuid4().hex
        message, key = user(ASKED.format(token=token)), IdempotencyKey(ClientKey(token), b"begin")
        ledger, ids = self.server.ledger, self.server.adapters.ids
        made = await _surely(lambda: create(ledger, ids, ACTOR, [message], keyed=key))
        self.taken[made.chat.chat_id] = [token]
        return made.chat.chat_id

    async def _send(self, chat_id: ChatId) -> None:
        token = uuid4().hex
        message, key = user(ASKED.format(token=token)), IdempotencyKey(ClientKey(token), b"send")
        await _surely(lambda: send(self.server.ledger, ACTOR, chat_id, message, keyed=key))
        self.taken[chat_id].append(token)

    async def _until_idle(self, chat_id: ChatId) -> None:
        async with asyncio.timeout(SETTLE_S):
            while True:
                loaded = await self.server.adapters.store.load(chat_id)
                assert loaded is not None
                if loaded.facts.chat.status is Status.IDLE:
                    return
                await asyncio.sleep(0.2)

    async def check(self) -> list[str]:
        return [sentence for chat_id in self.taken for sentence in await self._check(chat_id)]

    async def _check(self, chat_id: ChatId) -> list[str]:
        page = await self.server.adapters.history.page(chat_id, limit=200)
        texts = [
            "".join(part.text for part in message.body.parts if isinstance(part, Text))
            for message in page.messages
            if message.body.role is Role.USER
        ]
        said, taken = [text.split()[0] for text in texts], self.taken[chat_id]
        roles = [message.body.role.value for message in page.messages]
        wrong = [] if said == taken else [f"{len(taken)} were taken, {len(said)} are there: {said}"]
        if roles != ["user", "assistant"] * len(taken):
            wrong.append(f"not every message has its one answer: {roles}")
        return wrong


async def lose(order: Order, *, forgets_keys: bool = False) -> Found:
    """Answers to people and to workers, until so many are lost."""
    async with theatre() as stage:
        url = await stage.new_database()
        settings = settings_for(stage, url, "postgres", role="all")
        losing: list[Losing] = []

        def around(adapters: Adapters) -> Adapters:
            chance = random.Random(order.seed)
            losing.append(Losing(adapters.store, chance, forgets_keys=forgets_keys))
            return replace(adapters, store=losing[-1])

        async with (
            open_pool(url, PoolOptions(connections_min=1, connections_max=2)) as pool,
            open_server(
                Settings.model_validate({"chat_texts": "off", **settings}), around
            ) as server,
        ):
            await add_user(pool, ORG, OWNER)
            post = Post(server, losing[0], order)
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(server.run())
                await server.ready()
                async with asyncio.TaskGroup() as senders:
                    for _ in range(SENDERS):
                        senders.create_task(post.send_on())
                server.drain()
                await running
            wrong = await post.check()
            broken = await verify(pool, list(post.taken))
            wrong += [f"{each.rule} ({each.detail})" for each in broken]
    messages = sum(map(len, post.taken.values()))
    return Found(losing[0].lost, wrong, {"messages": messages, "chats": len(post.taken)})


async def _surely(ask: Callable[[], Awaitable[ANSWER]]) -> ANSWER:
    """As a client does it: with the same key, until it is told."""
    while True:
        with suppress(Unavailable):
            return await ask()
