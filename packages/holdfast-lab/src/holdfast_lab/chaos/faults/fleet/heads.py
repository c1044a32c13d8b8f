"""Strangers without a credential: heads of requests without an end, and silent connections.

A head costs a process no more than its bound, a silent connection is closed in time, and people at
another address are answered meanwhile.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.fleet.onlooker import Onlooker
from holdfast_lab.chaos.faults.streams.cell import QUICK
from holdfast_lab.chaos.faults.workers.trials import settings_for
from holdfast_lab.chaos.harness.cluster import theatre
from holdfast_lab.chaos.harness.served import Served, served

MB: Final = 2**20
SENT_MB: Final = 100
ADDED_MB_MAX: Final = 5.0
DELAY_S_MAX: Final = 2.0
HEAD_S: Final = 2.0
CLOSED_S_MAX: Final = HEAD_S + 3.0
CROWD: Final = 600
PER_ADDRESS: Final = 400
AT_ONCE: Final = 4
PEOPLE: Final = "127.0.0.2"
"""Where people call from; strangers call from 127.0.0.1."""
STRANGERS: Final = "127.0.0.1"
BEGIN: Final = b"GET /api/v1/chats HTTP/1.1\r\nhost: x\r\n"
HEADS: Final[dict[str, tuple[bytes, bytes]]] = {
    "many headers": (BEGIN, b"a: b\r\n" * 10_000),
    "one long header": (BEGIN + b"a: ", b"b" * 64_000),
    "a long address": (b"GET /", b"a" * 64_000),
    "trailers": (
        b"POST /api/v1/chats HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
        b"a: b\r\n" * 10_000,
    ),
}


async def send_heads(order: Order, mutant: str | None = None, sent_mb: float = SENT_MB) -> Found:
    """Every kind of head, and the crowd, as often as it takes to make the count."""
    found = Found(0)
    async with theatre() as stage:
        url = await stage.new_database()
        more = {**QUICK, "head_s": HEAD_S, "connections_per_address_max": PER_ADDRESS}
        settings = settings_for(stage, url, "postgres", **more)
        # A proxy that is trusted is not bounded as an address; here none is.
        settings["trusted_proxies"] = "127.0.0.3"
        async with served(settings, mutant, PEOPLE) as server:
            people = Onlooker(server, PEOPLE)
            await _warm(server)
            while found.count < order.count:
                for name in HEADS:
                    await _head(people, name, sent_mb, found, order)
                await _silent_crowd(people, found, order)
            if not server.alive:
                found.violations.append("the server died of it")
    found.figures["others_longest_s"] = round(people.longest_s, 2)
    if people.longest_s > DELAY_S_MAX * order.patience:
        found.violations.append(f"another person waited {people.longest_s:.1f} s")
    found.violations += people.refused[:5]
    return found


async def _warm(server: Served) -> None:
    """What the first requests and the first turn leave in memory is not the strangers'."""
    chat_id = await server.admin.new_chat('[[sim: say "hello"]]')
    await server.admin.until(chat_id, "idle")
    async with asyncio.TaskGroup() as tasks:
        for _ in range(100):
            tasks.create_task(server.admin.get("chats"))
    where = urlsplit(server.admin.url)
    for start, piece in HEADS.values():
        await _send_one(where.port or 0, start, piece, MB)


async def _head(people: Onlooker, name: str, sent_mb: float, found: Found, order: Order) -> None:
    start, piece = HEADS[name]
    port, left = urlsplit(people.server.admin.url).port or 0, sent_mb * MB

    async def send() -> None:
        nonlocal left
        while left > 0 and people.server.alive:
            left -= await _send_one(port, start, piece, left)

    added_mb = await _measured(people, send)
    found.count += 1
    _judge(found, f"{name}: {sent_mb:.0f} MB", added_mb)
    order.say(f"{name}: {added_mb:.1f} MB added")


async def _send_one(port: int, start: bytes, piece: bytes, most: float) -> int:
    """Until the server hangs up; how many bytes left this process."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(STRANGERS, 0))
    sent = 0
    with suppress(OSError):
        writer.write(start)
        while sent < most and not writer.transport.is_closing():
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
    writer.transport.abort()
    return max(sent, len(piece))


async def _measured(people: Onlooker, strike: Callable[[], Coroutine[Any, Any, None]]) -> float:
    """Megabytes that the server had more at its peak, while so many strike at once."""
    before_kb = people.server.forget_peak()
    async with people.looking(), asyncio.TaskGroup() as strangers:
        for _ in range(AT_ONCE):
            strangers.create_task(strike())
    return (people.server.memory_kb() - before_kb) / 1024


async def _silent_crowd(people: Onlooker, found: Found, order: Order) -> None:
    """Half of them say nothing, half begin a head; who is above the bound is refused at once."""
    port, closed_s = urlsplit(people.server.admin.url).port or 0, list[float]()

    async def stay(says: bytes) -> None:
        began_s = time.monotonic()
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, local_addr=(STRANGERS, 0)
            )
            writer.write(says)
            with suppress(TimeoutError):
                async with asyncio.timeout(HEAD_S * 10):
                    while await reader.read(4096):
                        pass
            writer.transport.abort()
        closed_s.append(time.monotonic() - began_s)

    before_kb = people.server.forget_peak()
    async with people.looking(), asyncio.TaskGroup() as crowd:
        for number in range(CROWD):
            crowd.create_task(stay(BEGIN if number % 2 else b""))
    added_mb = (people.server.memory_kb() - before_kb) / 1024
    found.count += 1
    _judge(found, f"{CROWD} silent connections", added_mb)
    found.figures["silent_closed_s"] = round(max(closed_s), 2)
    if max(closed_s) > CLOSED_S_MAX * order.patience:
        found.violations.append(f"a silent connection was open for {max(closed_s):.1f} s")
    order.say(f"{CROWD} silent connections: {added_mb:.1f} MB added")


def _judge(found: Found, what: str, added_mb: float) -> None:
    found.figures["added_mb_max"] = round(max(found.figures.get("added_mb_max", 0), added_mb), 1)
    if added_mb > ADDED_MB_MAX:
        found.violations.append(f"{what} added {added_mb:.1f} MB to the process")
