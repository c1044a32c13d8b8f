"""People who talk over HTTP while something runs out, and what each was told.

Who is refused asks again with the same key, as a client does. A refusal is one that says so: 503,
with a code and a sentence; and no client waits longer for it than the bound.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import aiohttp

from holdfast.domain.public_ids import CHAT_ID
from holdfast_lab.chaos.attack import Found
from holdfast_lab.chaos.faults.database.crashes import broken_rules, differences
from holdfast_lab.chaos.faults.workers.trials import words
from holdfast_lab.chaos.harness.asking import whole
from holdfast_lab.chaos.harness.client import Answer
from holdfast_lab.chaos.harness.replica import Door

ANSWER: Final = words("w", 30)
SAYS: Final = f'say "{ANSWER}" | rate=200'
PADDING_BYTES: Final = 3_000
"""In every message, and nothing that could be packed: so that a disk has something to hold."""
REFUSED: Final = {"unavailable", "overloaded", "write_contention"}
PAUSE_S: Final = 0.1
LOOKS_S: Final = 0.05
SETTLE_S: Final = 60.0


@dataclass
class Talk:
    """One chat, and what its person was told is taken, in order."""

    chat_id: str
    taken: list[str] = field(default_factory=list[str])


@dataclass
class Crowd:
    door: Door
    waits_s_max: float
    """The longest wait for an answer, good or bad."""
    talks: list[Talk] = field(default_factory=list[Talk])
    refused: int = 0
    longest_s: float = 0.0
    wrong: list[str] = field(default_factory=list[str])
    _done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def taken(self) -> int:
        return sum(len(talk.taken) for talk in self.talks)

    @asynccontextmanager
    async def talking(self, chats: int) -> AsyncGenerator[None]:
        """So many chats talk until the block ends and all are answered."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(chats):
                talk = Talk(await self.door.admin.new_chat())
                self.talks.append(talk)
                tasks.create_task(self._talk(talk))
            yield
            self._done.set()

    async def _talk(self, talk: Talk) -> None:
        """Says something when it was answered, and now and then before: that waits in the queue."""
        while not self._done.is_set():
            if len(talk.taken) % 3:
                await self._until_idle(talk)
            await self._say(talk)
        await self._until_idle(talk)

    async def _say(self, talk: Talk) -> None:
        token = uuid4().hex
        text = f"{token} {secrets.token_hex(PADDING_BYTES // 2)} [[sim: {SAYS}]]"
        where = f"chats/{talk.chat_id}/messages"
        async with asyncio.timeout(SETTLE_S):
            while True:
                said = await self._ask("POST", where, {"text": text}, key=token)
                if said is not None:
                    talk.taken.append(token)
                    return
                await asyncio.sleep(PAUSE_S)

    async def _until_idle(self, talk: Talk) -> None:
        async with asyncio.timeout(SETTLE_S):
            while True:
                said = await self._ask("GET", f"chats/{talk.chat_id}")
                status = "" if said is None else said.json["status"]
                if status == "idle":
                    return
                if status not in ("", "running"):
                    self.wrong.append(f"a chat is {status}: {said.raw if said else b''!r}")
                    return
                await asyncio.sleep(PAUSE_S)

    async def _ask(
        self, method: str, where: str, body: object = None, key: str = ""
    ) -> Answer | None:
        """What was answered; None: it was refused."""
        began_s = time.monotonic()
        named = {"idempotency_key": key} if key else {}
        try:
            said = await self.door.admin.ask(method, where, body, raw=None, **named)
        except (aiohttp.ClientError, TimeoutError) as error:
            self.wrong.append(f"{method} was not answered at all: {error!r}")
            return None
        took_s = time.monotonic() - began_s
        self.longest_s = max(self.longest_s, took_s)
        if took_s > self.waits_s_max:
            self.wrong.append(f"{method}: {said.status} only after {took_s:.1f} s")
        if said.status < 300:
            return said
        self.refused += 1
        if said.status != 503 or said.code not in REFUSED or not said.json["title"]:
            self.wrong.append(f"{method} was refused with {said.status} {said.raw!r}")
        return None

    async def refused_within(self, within_s: float) -> bool:
        """Whether a request is refused from now on."""
        before = self.refused
        return await _soon(lambda: self.refused > before, within_s)

    async def taken_again(self) -> float:
        """After how many seconds something is taken."""
        before, began_s = self.taken, time.monotonic()
        if not await _soon(lambda: self.taken > before, SETTLE_S):
            raise TimeoutError("nothing is taken any more")
        return time.monotonic() - began_s

    async def check(self, found: Found) -> None:
        """What was told against what is stored."""
        found.violations += self.wrong
        history = self.door.server.adapters.history
        for talk in self.talks:
            stored = await whole(history, CHAT_ID.decode(talk.chat_id))
            found.violations += differences(stored, talk.taken, ANSWER)
        chat_ids = [CHAT_ID.decode(talk.chat_id) for talk in self.talks]
        found.violations += await broken_rules(self.door.database_url, chat_ids)
        found.figures |= {
            "taken": self.taken,
            "refused": self.refused,
            "longest_wait_s": round(self.longest_s, 2),
        }


async def _soon(happened: Callable[[], bool], within_s: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while True:
                if happened():
                    return True
                await asyncio.sleep(LOOKS_S)
    return False
