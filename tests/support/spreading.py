"""Settings that change under load, on replicas that miss hints: who knew of a change, and when.

                 ┌─ heard: the hint goes to every replica ──▶ applied within LATE_S
    a change ────┤
                 └─ lost: no process hears ─▶ applied by the statements of turns, before an attempt

Every replica is built as production builds it, with a worker, on one database and one Redis. They
share a process, so that one clock says what was before what. Changes of the instructions are
numbered; every other change forbids a model, or allows it again. An attempt is judged where the
provider is asked, by what is in the prompt and by which model is asked:

- it is late if its instructions are older than those that stood when its message was sent;
- it is stale if its model was forbidden when its first statement began.
"""

import asyncio
import random
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any, Final, cast
from uuid import UUID

import asyncpg

from holdfast.admin import changes
from holdfast.admin.registry import SettingValues
from holdfast.bootstrap import Adapters, Server
from holdfast.domain.chat import Status
from holdfast.domain.ids import ChatId, SignInId
from holdfast.domain.policy import EVERY_SCOPE, Credential, OrgRole, Principal
from holdfast.ports.models import Ask, ModelStream
from holdfast_lab.chaos.harness.private_redis import private_redis
from tests.support.builders import ORG, OWNER, user
from tests.support.replica import API_KEY, Replicas, ask, at_rest, replicas_apart

REPLICAS: Final = 4
LATE_S: Final = 1.0
CAUGHT_UP_S: Final = 60.0
"""A guard against hangs, for a change of which no process heard."""
FORBIDDEN: Final = "other"
ADMIN: Final = Principal(
    org_id=ORG,
    user_id=OWNER,
    role=OrgRole.ADMIN,
    scopes=EVERY_SCOPE,
    credential=Credential("session", SignInId(UUID(int=5))),
)
_TOLD: Final = re.compile(r"change (\d+)\.")
_SENT: Final = re.compile(r"sent after (\d+)")


@dataclass
class Spread:
    heard: int = 0
    lost: int = 0
    stops: int = 0
    """Changes, with and without a hint; and those of all that forbid something."""
    applied_s: list[float] = field(default_factory=list[float])
    """Of each change that was heard: until the last replica had applied it."""
    turns: int = 0
    refused: int = 0
    """Turns that failed because their model was forbidden."""
    failed: list[str] = field(default_factory=list[str])
    """Turns that failed for another reason."""
    attempts: int = 0
    attempts_late: list[str] = field(default_factory=list[str])
    attempts_stale: list[str] = field(default_factory=list[str])

    @property
    def changes(self) -> int:
        return self.heard + self.lost

    @property
    def applied_late(self) -> int:
        return sum(each > LATE_S for each in self.applied_s)


@dataclass
class Judge:
    """What stood when, and what each attempt was asked under."""

    found: Spread = field(default_factory=Spread)
    told: int = 0
    """The number of the newest instructions that are committed."""
    forbidden_since: float | None = None
    """None: allowed, or a change that allows it has begun."""
    began: dict[ChatId, float] = field(default_factory=dict[ChatId, float])
    """When the statement of the chat's newest attempt was about to begin."""

    def asked(self, asking: Ask) -> None:
        found, said = self.found, "\n".join(map(str, asking.history))
        sent = max(map(int, _SENT.findall(said)), default=None)
        if sent is None or asking.chat_id not in self.began:
            return  # a test of a model, or a title
        found.attempts += 1
        told = max(map(int, _TOLD.findall(str(asking.system))), default=0)
        if told < sent:
            found.attempts_late.append(f"{asking.chat_id}: told {told}, sent after {sent}")
        since, began = self.forbidden_since, self.began[asking.chat_id]
        if asking.model == FORBIDDEN and since is not None and since < began:
            found.attempts_stale.append(f"{asking.chat_id}: {began - since:.3f} s after the stop")


class _Passing:
    """Everything as the inner one does it."""

    def __init__(self, inner: object, judge: Judge) -> None:
        self._inner: Any = inner
        self._judge = judge

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Models(_Passing):
    def stream(self, asking: Ask) -> ModelStream:
        self._judge.asked(asking)
        return self._inner.stream(asking)


class _Store(_Passing):
    async def commit(self, outcome: Any, **more: Any) -> Any:
        chat = outcome.chat
        if more.get("fence") is not None and chat.attempt > 0:
            self._judge.began[chat.chat_id] = time.monotonic()
        return await self._inner.commit(outcome, **more)


def judged(judge: Judge) -> Callable[[Adapters], Adapters]:
    def around(adapters: Adapters) -> Adapters:
        models, store = _Models(adapters.models, judge), _Store(adapters.store, judge)
        return replace(adapters, models=cast("Any", models), store=cast("Any", store))

    return around


@dataclass
class Spreading:
    """Replicas, one more that only admins use and whose hints no replica hears, and turns."""

    replicas: list[Server]
    unheard: Server
    connection: Any
    judge: Judge
    chance: random.Random

    async def change(self, number: int, *, heard: bool) -> None:
        """Even ones change the instructions, the others forbid a model or allow it again."""
        judge, found = self.judge, self.judge.found
        told = judge.told if number % 2 else number
        forbids = number % 4 == 1 if number % 2 else judge.forbidden_since is not None
        values = {
            "instructions": f"This is change {told}.",
            **({"allowed_models": ("sim",)} if forbids else {}),
        }
        if not forbids:
            judge.forbidden_since = None
        server = self.chance.choice(self.replicas) if heard else self.unheard
        assert server.adapters.people is not None
        await changes.change(
            server.adapters.people.settings, server.adapters.clock, ADMIN, SettingValues(values)
        )
        began = time.monotonic()
        judge.told = told
        if forbids and judge.forbidden_since is None:
            judge.forbidden_since = began
            found.stops += 1
        if not heard:
            found.lost += 1
            return
        found.heard += 1
        generation = await self.connection.fetchval("select n from settings_generation")
        known = [each.adapters.generation for each in self.replicas]
        async with asyncio.timeout(CAUGHT_UP_S):
            while any(each.applied < generation for each in known):  # noqa: ASYNC110
                await asyncio.sleep(0.002)
        found.applied_s.append(time.monotonic() - began)

    async def turns(self) -> None:
        """One after another, for ever: two attempts each, every other one of the other model."""
        found = self.judge.found
        for model in cycle(("sim", FORBIDDEN)):
            server = self.chance.choice(self.replicas)
            sent = self.judge.told
            text = f'[[sim: call clock {{}} | then | say "So late."]] sent after {sent}'
            chat = await ask(server, user(text, model=model))
            chat = await at_rest(server, chat.chat_id)
            found.turns += 1
            if chat.status is Status.FAILED:
                assert chat.error is not None
                if model == FORBIDDEN and "allow" in chat.error.sentence:
                    found.refused += 1
                else:
                    found.failed.append(chat.error.sentence)


@asynccontextmanager
async def spreading(template: str, judge: Judge, seed: int) -> AsyncGenerator[Spreading]:
    async with AsyncExitStack() as stack:
        redis = await stack.enter_async_context(private_redis())
        shared = await stack.enter_async_context(replicas_apart(template))
        connection = await asyncpg.connect(shared.database_url)
        stack.push_async_callback(connection.close)
        given: dict[str, Any] = {"models": models_of(shared), "bus_url": redis.url}
        given |= {"within_s": CAUGHT_UP_S * 10}
        opened = [
            await stack.enter_async_context(shared.open(judged(judge), **given))
            for _ in range(REPLICAS)
        ]
        elsewhere = shared.open(role="api", bus_prefix="elsewhere", **given)
        unheard = await stack.enter_async_context(elsewhere)
        running = [asyncio.create_task(each.run()) for each in opened]
        yield Spreading(opened, unheard, connection, judge, random.Random(seed))
        for each in opened:
            each.drain()
        await asyncio.gather(*running)


def models_of(shared: Replicas) -> list[dict[str, str]]:
    return [
        {
            "name": name,
            "vendor": "simulator-anthropic",
            "model": "claude-sonnet-5",
            "base_url": shared.simulator.url,
            "api_key": API_KEY,
        }
        for name in ("sim", FORBIDDEN)
    ]


async def spread(
    template: str, seed: int, *, settings_changes: int, chats: int, judge: Judge | None = None
) -> Spread:
    """So many changes under so many chats at once; every other four of them are not heard."""
    judge = judge or Judge()
    async with spreading(template, judge, seed) as cell, asyncio.TaskGroup() as tasks:
        load = [tasks.create_task(cell.turns()) for _ in range(chats)]
        for number in range(settings_changes):
            await cell.change(number, heard=number // 4 % 2 == 0)
            # The next turns begin under it before it is changed again.
            until = judge.found.turns + REPLICAS
            async with asyncio.timeout(CAUGHT_UP_S):
                while judge.found.turns < until:  # noqa: ASYNC110
                    await asyncio.sleep(0.002)
        for each in load:
            each.cancel()
    return judge.found
