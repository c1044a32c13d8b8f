"""One member's whales beside the small chats of others (L140, L141).

The whales: chats that wait for a worker with full queues of messages of a megabyte, as an older
version has taken them, and a chat with a long history of such messages. Others start their turns
and stop one of them at the same time. What the others wait for is compared with the same round
without whales; what is read of a whale is counted in bytes.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import asyncpg

from holdfast.domain.chat import QUEUE_LENGTH_MAX
from holdfast.ports.history import PAGE_BYTES_MAX
from holdfast.prove.attack import Found, Order
from holdfast.prove.stage.client import Client, add_member
from holdfast.prove.stage.door import Door, open_door
from holdfast.prove.stage.theatre import Actor, theatre
from holdfast.prove.streams.cell import QUICK
from holdfast.prove.turns.trials import settings_for

OTHERS: Final = 40
MESSAGE_BYTES: Final = 990_000
MESSAGES: Final = 200
QUEUE_EVENT: Final = b"event: queue"
SLOWLY: Final = 'say "wait a little" | rate=1'
"""So that no whale ends its first turn, and promotes a message, while the others are timed."""
LONGER_MAX: Final = 2.0
MEASURED_S: Final = 2.0
"""Of the time, what a busy machine may add."""
READER_KB_MAX: Final = 300
MB_MAX: Final = 32.0
SETTLE_S: Final = 90.0
QUEUE: Final = """
    insert into queued_messages (
        chat_id, id, position, urgent, revision, format, parts, bytes, head
    )
    select $1, n, n, false, 1, 1, body.parts, octet_length(body.parts::text),
        json_build_array(json_build_object('kind', 'text', 'text', left($2, 500)))
    from
        (
            select json_build_array(json_build_object('kind', 'text', 'text', $2::text)) as parts
        ) as body,
        generate_series(1, $3::integer) as n
"""
QUEUED: Final = """
    update chats set queue_length = $2::integer, last_queued_id = $2::integer,
        version = version + 1, queue_version = version + 1
    where id = $1
"""
HISTORY: Final = """
    insert into messages (
        chat_id, seq, revision, epoch, role, ending, visibility, format, parts, bytes
    )
    select $1, n, 1, 0, case when n % 2 = 1 then 'user' else 'assistant' end, 'complete', 'both', 1,
        body.parts, octet_length(body.parts::text)
    from
        (
            select json_build_array(json_build_object('kind', 'text', 'text', $2::text)) as parts
        ) as body,
        generate_series(1, $3::integer) as n
"""
SAID: Final = "update chats set last_seq = $2::integer, history_version = version where id = $1"


@dataclass
class Sea:
    """Two members at one door, and the worker that drives the chats of both."""

    door: Door
    worker: Actor
    bob: Client
    database: Any
    chats: list[str]

    async def round(self, *, stopping: str) -> float:
        """Seconds from the moment a worker comes until the others have their answers, and the one
        that was asked to stop has stopped."""
        admin = self.door.admin
        for chat_id in (*self.chats, stopping):
            said = await admin.post(f"chats/{chat_id}/messages", {"text": uuid4().hex})
            assert said.status == 202, said.raw
        asked = await admin.post(f"chats/{stopping}/interrupt")
        assert asked.status < 300, asked.raw
        began_s = time.monotonic()
        self.worker.tell(do="open")
        waiting = (*self.chats, stopping)
        with suppress(TimeoutError):  # then it took too long, and that is told
            settled = (admin.until(each, "idle", within_s=SETTLE_S) for each in waiting)
            await asyncio.gather(*settled)
        took_s = time.monotonic() - began_s
        self.worker.tell(do="close")
        return took_s

    async def fill(self, whales: int) -> list[str]:
        """Chats that wait for a worker, with queues as full as they ever could be."""
        made: list[str] = []
        for _ in range(whales):
            chat_id = await self.bob.new_chat(f"hello [[sim: {SLOWLY}]]")
            await self.database.execute(QUEUE, UUID(chat_id), _words(), QUEUE_LENGTH_MAX)
            await self.database.execute(QUEUED, UUID(chat_id), QUEUE_LENGTH_MAX)
            made.append(chat_id)
        return made

    async def long_history(self) -> str:
        chat_id = await self.bob.new_chat()
        await self.database.execute(HISTORY, UUID(chat_id), _words(), MESSAGES)
        await self.database.execute(SAID, UUID(chat_id), MESSAGES)
        return chat_id


async def swim(order: Order, mutant: str | None = None) -> Found:
    found = Found(0)
    async with _sea(mutant) as sea:
        stopping = await sea.door.admin.new_chat()
        alone_s = await sea.round(stopping=stopping)
        whales = await sea.fill(order.count)
        await _queue_told(sea, whales[0], found)
        if found.violations:
            return found  # what follows would only wait
        beside_s = await sea.round(stopping=stopping)
        found.count += len(whales)
        found.figures |= {"alone_s": round(alone_s, 2), "beside_s": round(beside_s, 2)}
        if beside_s > (alone_s * LONGER_MAX + MEASURED_S) * order.patience:
            found.violations.append(f"others waited {beside_s:.1f} s, alone {alone_s:.1f} s")
        order.say(f"{len(whales)} whales: others wait {beside_s:.2f} s, alone {alone_s:.2f} s")
        await _read_history(sea, await sea.long_history(), found)
    return found


async def _queue_told(sea: Sea, chat_id: str, found: Found) -> None:
    """What a new reader of a whale is sent before anything happens."""
    told = await _snapshot_bytes(sea.bob, chat_id)
    found.figures["reader_kb"] = round(told / 1024, 1)
    if told > READER_KB_MAX * 1024:
        found.violations.append(f"a reader is told {told // 1024} KB of the queue of a whale")


async def _snapshot_bytes(client: Client, chat_id: str) -> int:
    """What a new reader is sent, up to the end of the queue, which comes last."""
    told, tail, ending = 0, b"", False
    where = f"{client.url}/api/v1/chats/{chat_id}/stream"
    async with (
        asyncio.timeout(SETTLE_S),
        client.http.get(where, headers=client.headers) as response,
    ):
        async for received in response.content.iter_any():
            told += len(received)
            tail += received
            if not ending and QUEUE_EVENT in tail:
                ending, tail = True, tail[tail.index(QUEUE_EVENT) :]
            if ending and b"\n\n" in tail:
                return told
            tail = tail[-len(QUEUE_EVENT) :]
    return told


async def _read_history(sea: Sea, chat_id: str, found: Found) -> None:
    """A page, a snapshot, a fork and a turn of a long history: what each adds to its process."""
    us = os.getpid()
    with _grows("page_mb", us, found):
        page = await sea.bob.get(f"chats/{chat_id}/messages?limit=200")
        if len(page.raw) > PAGE_BYTES_MAX + MESSAGE_BYTES or page.json["before"] is None:
            found.violations.append(f"a page has {len(page.raw) // 1024} KB")
    with _grows("snapshot_mb", us, found):
        await _snapshot_bytes(sea.bob, chat_id)
    with _grows("fork_mb", us, found):
        forked = await sea.bob.post(f"chats/{chat_id}/fork", {})
        if forked.status != 201:
            found.violations.append(f"a fork was refused: {forked.raw!r}")
    with _grows("turn_mb", sea.worker.pid, found):
        await sea.bob.post(f"chats/{chat_id}/messages", {"text": "hello"})
        sea.worker.tell(do="open")
        chat = await sea.bob.until(chat_id, "failed", "idle", within_s=SETTLE_S)
    kind = None if chat["error"] is None else chat["error"]["kind"]
    if kind != "context_overflow":
        found.violations.append(f"a turn on {MESSAGES} MB is {chat['status']}: {chat['error']}")


class _grows:  # noqa: N801 - reads as a verb where it is used
    """The peak of a process's memory, above what it had, in a block; in the found figures."""

    def __init__(self, figure: str, pid: int, found: Found) -> None:
        self._figure, self._pid, self._found = figure, pid, found
        self._before = 0

    def __enter__(self) -> None:
        with suppress(OSError):
            Path(f"/proc/{self._pid}/clear_refs").write_text("5")  # the peak begins anew
        self._before = _kb(self._pid, "VmRSS")

    def __exit__(self, *_: object) -> None:
        grown = max(0, _kb(self._pid, "VmHWM") - self._before) / 1024
        self._found.figures[self._figure] = round(grown, 1)
        if grown > MB_MAX:
            self._found.violations.append(f"{self._figure}: {grown:.0f} MB, {MB_MAX:.0f} at most")


def _kb(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def _words() -> str:
    return os.urandom(MESSAGE_BYTES // 2).hex()


@asynccontextmanager
async def _sea(mutant: str | None) -> AsyncGenerator[Sea]:
    async with theatre() as stage:
        url = await stage.new_database()
        settings = settings_for(stage, url, "postgres", **QUICK)
        worker = await stage.engage("worker", settings, mutant=mutant, may_acquire=False)
        database = await asyncpg.connect(url)
        try:
            async with open_door(
                {**settings, "role": "api", "database_command_timeout_s": 25.0}
            ) as door:
                bob = await add_member(door.admin, "Bob")
                chats = [await door.admin.new_chat() for _ in range(OTHERS)]
                yield Sea(door, worker, bob, database, chats)
        finally:
            await database.close()
