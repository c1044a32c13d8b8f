"""People as they are: they leave in mid-word, interrupt, edit and send again; many at once."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from holdfast.bootstrap import Server
from holdfast.chats.changes import ChangeRequest
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import EditMessage, Interrupt, SendMessage
from holdfast.domain.errors import CommandRefused
from holdfast.domain.events import EventType
from holdfast.domain.ids import ChatId, Seq
from holdfast.stream.hub import Hub
from tests.support.builders import user
from tests.support.replica import ask
from tests.support.waits import HANG_S
from tests.support.world import ACTOR

TOGETHER_MAX: Final = 48
PATIENCE_S: Final = 0.5
WORDS: Final = "it will neither rain nor snow nor hail today nor tomorrow as far as I can see"
AT_REST: Final = (b'"idle"', b'"failed"')


@dataclass
class Churn:
    """Turns on one server, each disturbed in a way that chance chooses."""

    server: Server
    chance: random.Random
    turns: int = 0
    ways: Counter[str] = field(default_factory=Counter[str])
    ends: Counter[Status] = field(default_factory=Counter[Status])

    @property
    def hub(self) -> Hub:
        assert self.server.hub is not None
        return self.server.hub

    async def run(self, turns: int) -> None:
        room = asyncio.Semaphore(TOGETHER_MAX)

        async def one(way: Callable[[], Awaitable[Chat]]) -> None:
            async with room, asyncio.timeout(HANG_S):
                chat = await way()
            self.turns += 1
            self.ends[chat.status] += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(turns):
                way = self.chance.choices(
                    [self.read, self.leave, self.vanish, self.interrupt, self.edit, self.urge],
                    [30, 15, 15, 20, 10, 10],
                )[0]
                self.ways[way.__name__] += 1
                group.create_task(one(way))

    # The ways.

    async def read(self) -> Chat:
        """Read to the end."""
        chat = await self._ask()
        async with self.hub.follow(chat.chat_id, None) as events:
            async for event in events:
                if event.kind is EventType.CHAT_STATE and any(end in event.data for end in AT_REST):
                    break
        return await self._rest(chat.chat_id)

    async def leave(self) -> Chat:
        """Close the page in the middle."""
        chat = await self._ask()
        await self._follow(chat.chat_id, self.chance.randrange(1, 12))
        return await self._rest(chat.chat_id)

    async def vanish(self) -> Chat:
        """Lose the connection in the middle: whoever serves is cancelled, wherever it is."""
        chat = await self._ask()
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(self._follow(chat.chat_id, 1_000))
            # Real time: any moment will do, and chance chooses one.
            await asyncio.sleep(self.chance.random() * 0.1)
            reading.cancel()
        return await self._rest(chat.chat_id)

    async def interrupt(self) -> Chat:
        """Press stop; sometimes on a provider that says no more."""
        hangs = self.chance.random() < 0.3
        self.ways["hangs"] += hangs
        chat = await self._ask("fault=hang-mid" if hangs else "")
        await self._follow(chat.chat_id, self.chance.randrange(1, 12))
        await self._command(chat.chat_id, Interrupt())
        return await self._rest(chat.chat_id)

    async def edit(self) -> Chat:
        chat = await self._ask("rate=200")
        await self._follow(chat.chat_id, self.chance.randrange(1, 12))
        await self._command(chat.chat_id, EditMessage(Seq(1), user(self._prompt())))
        return await self._rest(chat.chat_id)

    async def urge(self) -> Chat:
        """Say something else at once, instead of what is being answered."""
        chat = await self._ask("rate=200")
        await self._follow(chat.chat_id, self.chance.randrange(1, 12))
        await self._command(chat.chat_id, SendMessage(user(self._prompt()), "interrupt"))
        return await self._rest(chat.chat_id)

    # What they consist of.

    def _prompt(self, more: str = "") -> str:
        call = "call clock {} | then | " if self.chance.random() < 0.1 else ""
        rate = f"rate={self.chance.choice([0, 0, 300])}"
        number = self.chance.getrandbits(32)
        return f'{number}? [[sim: {call}say "{WORDS} {number}" | {more or rate}]]'

    async def _ask(self, more: str = "") -> Chat:
        return await ask(self.server, user(self._prompt(more)))

    async def _follow(self, chat_id: ChatId, events_max: int) -> None:
        """Some events, or until it is over, or until patience is."""
        count = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S), self.hub.follow(chat_id, None) as events:
                async for event in events:
                    count += 1
                    over = event.kind is EventType.CHAT_STATE and any(
                        e in event.data for e in AT_REST
                    )
                    if count >= events_max or over:
                        break

    async def _command(
        self, chat_id: ChatId, command: Interrupt | EditMessage | SendMessage
    ) -> None:
        try:
            await self.server.ledger.transact(chat_id, ChangeRequest((command,), by=ACTOR))
        except CommandRefused:
            self.ways["too late"] += 1  # it was over already

    async def _rest(self, chat_id: ChatId) -> Chat:
        while True:
            loaded = await self.server.adapters.store.load(chat_id)
            assert loaded is not None
            chat = loaded.facts.chat
            if chat.status not in (Status.RUNNING, Status.INTERRUPTING) and chat.worker_id is None:
                return chat
            await asyncio.sleep(0.1)
