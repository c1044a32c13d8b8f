"""One member's whales beside the small chats of others (L140, L141).

The whales: chats that wait for a worker with full queues of messages of a megabyte, as an older
version has taken them, and a chat with a long history of such messages. Others start their turns,
stop one of them and list their chats at the same time. What they wait for is compared with the same
rounds without whales. What a whale costs a reader and a process is counted in bytes.
"""

import asyncio
import base64
import os
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg

from holdfast.domain.chat import QUEUE_LENGTH_MAX
from holdfast.ports.history import PAGE_BYTES_MAX
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.limits.beside import Waits
from holdfast_lab.chaos.faults.streams.cell import QUICK
from holdfast_lab.chaos.faults.workers.trials import settings_for, words
from holdfast_lab.chaos.harness.client import Client, add_member, uuid_of
from holdfast_lab.chaos.harness.cluster import Actor, theatre
from holdfast_lab.chaos.harness.served import Served, served

OTHERS: Final = 40
ROUNDS: Final = 3
"""Of each kind. Each round beside whales has new ones, which wait when it begins."""
MESSAGE_BYTES: Final = 990_000
MESSAGES: Final = 200
QUEUE_EVENT: Final = b"event: queue.updated"
SLOWLY: Final = f'say "{words("slow", 300)}" | rate=1'
"""So that no whale ends its first turn, and promotes a message, while the others are timed."""
LOOKS_S: Final = 0.01
LOOKS_EVERY_S: Final = 0.02
READERS: Final = 40
READER_KB_MAX: Final = 300
WINDOW_BYTES: Final = 4_096
"""What the kernel takes for a reader that does not read."""
STREAMS: Final = b"HTTP/1.1 200"
STILL_S: Final = 2.0
MB_MAX: Final = 32.0
SETTLE_S: Final = 90.0
FORKS_S: Final = 120.0
"""For a copy of 200 MB. The server itself gives up sooner, and says so: that is no promise broken
in silence, and must not look like an answer that never came."""
UNBOUNDED: Final = {
    "statements_per_user_max": 0,
    "chats_per_user_max": 0,
    "streams_per_user_max": 0,
    "streams_per_chat_max": 0,
}
"""The admin stands for many people."""
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
UNDONE: Final = "select count(*) from chats where id = any($1::uuid[]) and status <> 'idle'"


@dataclass
class Round:
    """Seconds: until the last of the others was answered, and of each list and each snapshot."""

    took_s: float = 0.0
    lists_s: list[float] = field(default_factory=list[float])
    streams_s: list[float] = field(default_factory=list[float])


@dataclass
class Sea:
    """Two members at one server, and the worker that drives the chats of both."""

    server: Served
    worker: Actor
    bob: Client
    database: Any
    chats: list[str]
    stopping: str

    async def round(self) -> "Round":
        """From the moment a worker comes until the others have their answers, and the one that was
        asked to stop has stopped."""
        *first, last = self.chats
        for chat_id in (*first, self.stopping):
            await self._say(chat_id)
        asked = await self.server.admin.post(f"chats/{self.stopping}/interrupt")
        assert asked.status < 300, asked.raw
        done, found = asyncio.Event(), Round()
        async with asyncio.TaskGroup() as tasks:
            began_s = time.monotonic()
            await self._tell("open")
            await self._say(last)  # its hint makes the worker look at once, whatever its timer says
            tasks.create_task(self._look(done, found))
            with suppress(TimeoutError):  # then it took too long, and that is told
                await self._until_idle()
            found.took_s = time.monotonic() - began_s
            done.set()
        await self._tell("close")
        return found

    async def _say(self, chat_id: str) -> None:
        said = await self.server.admin.post(f"chats/{chat_id}/messages", {"text": uuid4().hex})
        assert said.status == 202, said.raw

    async def _tell(self, do: str) -> None:
        """Until the worker has heard it."""
        mark = len(self.worker.heard)
        self.worker.tell(do=do)
        self.worker.tell(do="count")  # is answered, and heard after the first
        await self.worker.says("count", mark)

    async def _until_idle(self) -> None:
        """By one statement: forty clients that ask would be part of what is timed."""
        waiting = [uuid_of(each) for each in (*self.chats, self.stopping)]
        async with asyncio.timeout(SETTLE_S):
            while await self.database.fetchval(UNDONE, waiting):  # noqa: ASYNC110
                await asyncio.sleep(LOOKS_S)

    async def _look(self, done: asyncio.Event, found: "Round") -> None:
        """A person who lists chats, and opens one, again and again."""
        admin = self.server.admin
        while not done.is_set():
            began_s = time.monotonic()
            said = await admin.get("chats?limit=20")
            assert said.status == 200, said.raw
            listed_s = time.monotonic()
            await _snapshot_bytes(admin, self.chats[0])
            found.lists_s.append(listed_s - began_s)
            found.streams_s.append(time.monotonic() - listed_s)
            await asyncio.sleep(LOOKS_EVERY_S)

    async def fill(self, whales: int) -> list[str]:
        """Chats that wait for a worker, with queues as full as they ever could be."""
        made = [await self.bob.new_chat(f"hello [[sim: {SLOWLY}]]") for _ in range(whales)]
        for chat_id in made:
            await self.database.execute(QUEUE, uuid_of(chat_id), _words(), QUEUE_LENGTH_MAX)
            await self.database.execute(QUEUED, uuid_of(chat_id), QUEUE_LENGTH_MAX)
        await self._written()
        return made

    async def long_history(self) -> str:
        chat_id = await self.bob.new_chat()
        await self.database.execute(HISTORY, uuid_of(chat_id), _words(), MESSAGES)
        await self.database.execute(SAID, uuid_of(chat_id), MESSAGES)
        await self._written()
        return chat_id

    async def _written(self) -> None:
        """What was put there without the server is on the disk before the server is asked again.

        Hundreds of megabytes that the database writes out later may hold up the commits of a round,
        on a slow disk: that would time the set-up of the attack.
        """
        await self.database.execute("checkpoint")


async def swim(order: Order, mutant: str | None = None) -> Found:
    """`order.count`: whales of each round."""
    found = Found(0)
    async with _sea(mutant) as sea:
        await sea.round()  # the first one warms what it uses
        alone = [await sea.round() for _ in range(ROUNDS)]
        beside = list[Round]()
        for _ in range(ROUNDS):
            whales = await sea.fill(order.count)
            if not beside:
                await _queue_told(sea, whales[0], found)
                if found.violations:
                    return found  # what follows would only wait
                await _stall(sea, whales[0], found)
            beside.append(await sea.round())
            found.count += len(whales)
            order.say(f"{found.count} whales: others wait {beside[-1].took_s:.2f} s")
        _compare(alone, beside, found, order)
        await _read_history(sea, await sea.long_history(), found)
    return found


def _compare(alone: list[Round], beside: list[Round], found: Found, order: Order) -> None:
    def all_of(name: str, rounds: list[Round]) -> list[float]:
        return [each for one in rounds for each in getattr(one, name)]

    starts = Waits([one.took_s for one in alone], [one.took_s for one in beside])
    lists = Waits(all_of("lists_s", alone), all_of("lists_s", beside))
    streams = Waits(all_of("streams_s", alone), all_of("streams_s", beside))
    for name, what, waits in (
        ("start", f"the answers of {OTHERS} chats", starts),
        ("list", "a list", lists),
        ("stream", "a snapshot", streams),
    ):
        found.figures[f"{name}_ratio"] = waits.ratio
        found.violations += waits.wrong(what, order.patience)
        order.say(f"others wait for {what} {waits.told()}")


async def _queue_told(sea: Sea, chat_id: str, found: Found) -> None:
    """What a new reader of a whale is sent before anything happens."""
    told = await _snapshot_bytes(sea.bob, chat_id)
    found.figures["reader_told_kb"] = round(told / 1024, 1)
    if told > READER_KB_MAX * 1024:
        found.violations.append(f"a reader is told {told // 1024} KB of the queue of a whale")


async def _stall(sea: Sea, chat_id: str, found: Found) -> None:
    """What each of many readers that ask for a whale and never read costs the server."""
    where = urlsplit(sea.bob.url)
    head = "".join(f"{name}: {value}\r\n" for name, value in sea.bob.headers.items())
    asked = f"GET /api/v1/chats/{chat_id}/events HTTP/1.1\r\nhost: x\r\n{head}\r\n".encode()
    loop, before_kb, lazy = asyncio.get_running_loop(), sea.server.forget_peak(), list[bytes]()
    with ExitStack() as stack:
        readers = [stack.enter_context(socket.socket()) for _ in range(READERS)]
        for reader in readers:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW_BYTES)
            reader.settimeout(0)  # non-blocking
            await loop.sock_connect(reader, (where.hostname, where.port))
            await loop.sock_sendall(reader, asked)
        await asyncio.sleep(STILL_S)
        each_kb = max(0, sea.server.memory_kb() - before_kb) / READERS
        for reader in readers:
            with suppress(BlockingIOError):
                lazy.append(reader.recv(len(STREAMS), socket.MSG_PEEK))
    if lazy != [STREAMS] * READERS:
        found.violations.append(f"only {lazy.count(STREAMS)} of {READERS} readers of a whale began")
    found.figures["reader_kb"] = round(each_kb, 1)
    if each_kb > READER_KB_MAX:
        found.violations.append(f"a stalled reader of a whale costs {each_kb:.0f} KB")


async def _snapshot_bytes(client: Client, chat_id: str) -> int:
    """What a new reader is sent, up to the end of the queue, which comes last."""
    told, tail, ending = 0, b"", False
    where = f"{client.url}/api/v1/chats/{chat_id}/events"
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
    server = sea.server.process.pid
    with _grows("page_mb", server, found):
        page = await sea.bob.get(f"chats/{chat_id}/messages?limit=200")
        if len(page.raw) > PAGE_BYTES_MAX + MESSAGE_BYTES or page.json["next_cursor"] is None:
            found.violations.append(f"a page has {len(page.raw) // 1024} KB")
    with _grows("snapshot_mb", server, found):
        await _snapshot_bytes(sea.bob, chat_id)
    with _grows("fork_mb", server, found):
        patient = replace(sea.bob, answered_within_s=FORKS_S)
        forked = await patient.post(f"chats/{chat_id}/fork", {})
        if forked.status != 201:
            found.violations.append(f"a fork was refused: {forked.raw!r}")
    with _grows("turn_mb", sea.worker.pid, found):
        await sea.bob.post(f"chats/{chat_id}/messages", {"text": "hello"})
        sea.worker.tell(do="open")
        chat = await sea.bob.until(chat_id, "failed", "idle", within_s=SETTLE_S)
    # Compaction rescues it: the model reads a summary of shortened messages.
    if chat["status"] != "idle":
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
    """What cannot be packed, as pictures in messages. PostgreSQL tries to, for every copy of it: of
    hexadecimal digits it does so for twice as long."""
    return base64.b64encode(os.urandom(MESSAGE_BYTES * 3 // 4)).decode()


@asynccontextmanager
async def _sea(mutant: str | None) -> AsyncGenerator[Sea]:
    async with theatre() as stage:
        url = await stage.new_database()
        settings = settings_for(stage, url, "postgres", **QUICK)
        worker = await stage.engage("worker", settings, mutant=mutant, may_acquire=False)
        database = await asyncpg.connect(url)
        serves = {**settings, **UNBOUNDED, "database_command_timeout_s": 25.0}
        try:
            async with served(serves, mutant, role="api") as server:
                bob = await add_member(server.admin, "Bob")
                chats = [await server.admin.new_chat() for _ in range(OTHERS)]
                yield Sea(server, worker, bob, database, chats, await server.admin.new_chat())
        finally:
            await database.close()
