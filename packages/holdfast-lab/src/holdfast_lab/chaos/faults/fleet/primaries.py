"""The primary of the database changes under a server that is never restarted.

A private primary with an asynchronous standby; a line in front of them is the endpoint that the
server knows. The endpoint leads to the read-only standby for a while and back; then the primary is
shut down, the standby is promoted and the endpoint is moved. Last, a standby that had received
nothing for a while is promoted: commits that the server remembers, and readers saw, never happened.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import aiohttp
import asyncpg

from holdfast.adapters.postgres.migrate import MigrateOptions, migrate
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.fleet.readers import Reader
from holdfast_lab.chaos.faults.streams.cell import QUICK
from holdfast_lab.chaos.faults.workers.trials import settings_for
from holdfast_lab.chaos.harness.client import uuid_of
from holdfast_lab.chaos.harness.cluster import Theatre, theatre
from holdfast_lab.chaos.harness.private_postgres import (
    PrivatePostgres,
    private_postgres,
    standby_of,
)
from holdfast_lab.chaos.harness.proxy import Line, a_line
from holdfast_lab.chaos.harness.served import Served, served

RECOVER_S_MAX: Final = 5.0
"""From the moment in which the endpoint leads to a primary to the first message that is taken."""
READ_ONLY_S: Final = 6.0
LINES_MAX: Final = 20
SETTLE_S: Final = 60.0
NOTICED_S: Final = 15.0
"""For the first refusal, and for a probe to say so: a statement may wait for its answer."""
LOOKS_S: Final = 0.1
PAIR: Final = {"wal_level": "replica", "max_wal_senders": "4", "wal_keep_size": "256MB"}
LONG_TURN: Final = "[[sim: count=80 | rate=10]]"
"""About eight seconds of words: the turn is under way when the endpoint moves."""
STAMPED: Final = """
    select exists (select from information_schema.columns
    where table_name = 'chats' and column_name = 'stamp')
"""
"""Without it, versions that come again are taken for the same history; the part is not tried."""
LOST: Final = "the lost words"
CAUGHT_UP: Final = "select pg_last_wal_replay_lsn() >= $1::text::pg_lsn"


@dataclass
class Fleet:
    """A server behind an endpoint, and the two databases that the endpoint may lead to."""

    primary: PrivatePostgres
    standby: PrivatePostgres
    endpoint: Line
    server: Served
    chat_id: str
    settle_s: float
    taken: list[str] = field(default_factory=list[str])
    """The words of every message that was answered with 202."""
    wrong: list[str] = field(default_factory=list[str])

    def lead_to(self, server: PrivatePostgres, *, cuts: bool = True) -> float:
        """Now. Connections that are open are cut, or lead to where they led before."""
        self.endpoint.to_port = port_of(server)
        if cuts:
            self.endpoint.cut()
        return time.monotonic()

    async def send(self) -> bool:
        """Whether a message was taken; an answer other than 202 or 503 is wrong."""
        token = uuid4().hex
        try:
            said = await self.server.admin.post(
                f"chats/{self.chat_id}/messages", {"text": f'{token} [[sim: say "yes"]]'}
            )
        except (aiohttp.ClientError, TimeoutError) as error:
            self.wrong.append(f"a message was not answered: {error!r}")
            return False
        if said.status == 202:
            self.taken.append(token)
        elif said.status != 503:
            self.wrong.append(f"a message was answered {said.status}: {said.raw[:200]!r}")
        return said.status == 202

    async def readiness(self) -> int:
        return (await self.server.admin.get("/readyz")).status


def port_of(server: PrivatePostgres) -> int:
    port = urlsplit(server.url).port
    assert port is not None
    return port


async def change(
    order: Order, mutant: str | None = None, part: str = "", settle_s: float = SETTLE_S
) -> Found:
    """`part`: only this one."""
    found = Found(0)
    async with theatre() as stage:
        while found.count < order.count:
            if part != "lost commits":
                async with fleet(stage, mutant, settle_s) as place:
                    await _lead_to_standby(place, found, order)
                    if part != "read only":
                        await _promote(place, found, order)
            if part != "read only" and await _is_stamped(stage, found, order):
                async with fleet(stage, mutant, settle_s) as place:
                    await lose_commits(place, found, order)
            if part:
                break
    return found


@asynccontextmanager
async def fleet(stage: Theatre, mutant: str | None, settle_s: float) -> AsyncGenerator[Fleet]:
    async with private_postgres(PAIR) as primary:
        await migrate(primary.url, MigrateOptions(tells_each=False))
        async with standby_of(primary) as standby, a_line(primary.url) as endpoint:
            url = endpoint.instead_of(primary.url)
            settings = settings_for(stage, url, "postgres", **QUICK)
            async with served(settings, mutant) as server:
                chat_id = await server.admin.new_chat('[[sim: say "hello"]]')
                await server.admin.until(chat_id, "idle")
                yield Fleet(primary, standby, endpoint, server, chat_id, settle_s)


async def _lead_to_standby(place: Fleet, found: Found, order: Order) -> None:
    """For seconds, as a balancer does that is behind; then back."""
    admin = place.server.admin
    running = await admin.new_chat(LONG_TURN)
    before = len(place.server.lines)
    place.lead_to(place.standby)
    ends_s = time.monotonic() + READ_ONLY_S
    await _until(lambda: _refused(place), NOTICED_S, "nothing is refused by a standby")
    if not await _is_told(place):
        place.wrong.append("/readyz says 200 at a standby")
        ends_s = 0.0
    while time.monotonic() < ends_s:
        if await place.send():
            place.wrong.append("a message was taken by a standby")
        if await place.readiness() != 503:
            place.wrong.append("/readyz said 200 while nothing could be written")
        await asyncio.sleep(LOOKS_S)
    lines = len(place.server.lines) - before
    # A balancer leads new connections elsewhere; those that are open stay where they are.
    right_s = place.lead_to(place.primary, cuts=False)
    await _judge(place, found, order, "read_only", right_s)
    await _judge_turn(place, running)
    found.figures["log_lines_max"] = max(found.figures.get("log_lines_max", 0), lines)
    if lines > LINES_MAX:
        place.wrong.append(f"{lines} log lines in {READ_ONLY_S:.0f} s, {LINES_MAX} at most")
    await _sum_up(place, place.primary, found)
    order.say(f"{found.count} changes of primary")


async def _promote(place: Fleet, found: Found, order: Order) -> None:
    """Nothing is lost: a primary that is shut down in order has sent everything."""
    running = await place.server.admin.new_chat(LONG_TURN)
    await place.primary.shut_down()
    await place.standby.promote()
    right_s = place.lead_to(place.standby)
    await _judge(place, found, order, "promoted", right_s)
    await _judge_turn(place, running)
    await _sum_up(place, place.standby, found)
    order.say(f"{found.count} changes of primary")


async def _is_stamped(stage: Theatre, found: Found, order: Order) -> bool:
    """Whether this version can tell lost commits from those that came in their place."""
    connection = await asyncpg.connect(await stage.new_database())
    try:
        stamped: bool = await connection.fetchval(STAMPED)
    finally:
        await connection.close()
    if not stamped:
        order.say("lost commits: not tried, chats have no stamp in this version")
        found.figures["lost_commits_tried"] = 0
    return stamped


async def lose_commits(place: Fleet, found: Found, order: Order) -> None:
    """A turn that the server remembers was never received by the standby. The person asks for
    something else; what the server then tells readers must be what is stored."""
    await _stop_replication(place)
    async with _reader(place).connected() as connected:
        await _say_and_wait(place, LOST)
        away = await _seen(place, LOST)
        if not await connected.until_shown(_said(LOST), place.settle_s):
            place.wrong.append("a connected reader was not told of a turn")
        await place.primary.stop()
        await place.standby.promote()
        right_s = place.lead_to(place.standby)
        await _judge(place, found, order, "lost_commits", right_s)
        place.taken.clear()
        await _say_and_wait(place, "the new words")
        known = await _seen(place, "the new words")
        # Until the poll has looked, a server whose bus was cut off tells what it remembers.
        known.begun_anew = 0
        await _say_and_wait(place, "and more")
        found.figures["lost_commits_tried"] = found.figures.get("lost_commits_tried", 0) + 1
        stored = (await place.server.admin.get(f"chats/{place.chat_id}/messages")).json["data"]
        if LOST in str(stored):
            place.wrong.append("lost words are stored")
        await _judge_reader(place, connected, stored, "that stayed")
    async with away.connected():
        await _judge_reader(place, away, stored, "that came back")
    async with known.connected():
        await _judge_reader(place, known, stored, "of what is stored")
    if known.begun_anew:
        place.wrong.append("a reader of what is stored was told to begin anew")
    anew = found.figures.get("readers_begun_anew", 0)
    found.figures["readers_begun_anew"] = anew + bool(connected.begun_anew) + bool(away.begun_anew)
    await _sum_up(place, place.standby, found)


async def _stop_replication(place: Fleet) -> None:
    position = await _ask(place.primary, "select pg_current_wal_lsn()::text")
    await _until(lambda: _ask(place.standby, CAUGHT_UP, position), SETTLE_S, "no replication")
    await _ask(place.standby, "alter system set primary_conninfo = ''")
    await _ask(place.standby, "select pg_reload_conf()")
    receivers = "select not exists (select from pg_stat_wal_receiver)"
    await _until(lambda: _ask(place.standby, receivers), SETTLE_S, "the standby goes on")


def _reader(place: Fleet) -> Reader:
    return Reader(place.server.admin, place.chat_id)


async def _seen(place: Fleet, text: str) -> Reader:
    """A reader that was told of this turn, and left."""
    async with _reader(place).connected() as reader:
        if not await reader.until_shown(_said(text), place.settle_s):
            place.wrong.append("a new reader is not told of a turn")
    return reader


async def _judge_reader(place: Fleet, reader: Reader, stored: Sequence[Any], which: str) -> None:
    if not await reader.until_same(stored, place.settle_s):
        place.wrong.append(f"a reader {which} does not show what is stored")
    if reader.shows(LOST):
        place.wrong.append(f"a reader {which} still shows lost words")


def _said(text: str) -> str:
    return f'{text} [[sim: say "yes"]]'


async def _say_and_wait(place: Fleet, text: str) -> None:
    admin = place.server.admin
    said = await admin.post(f"chats/{place.chat_id}/messages", {"text": _said(text)})
    assert said.status == 202, said.raw
    await admin.until(place.chat_id, "idle")


async def _refused(place: Fleet) -> bool:
    return not await place.send()


async def _is_told(place: Fleet) -> bool:
    ends_s = time.monotonic() + NOTICED_S
    while time.monotonic() < ends_s:
        if await place.readiness() == 503:
            return True
        await asyncio.sleep(LOOKS_S)
    return False


async def _judge(place: Fleet, found: Found, order: Order, name: str, right_s: float) -> None:
    """Writes are taken again soon after the endpoint leads to a primary, and all go on so."""
    try:
        await _until(place.send, place.settle_s, "nothing is taken any more")
    except TimeoutError as never:
        place.wrong.append(f"{name}: {never}")
        return
    took_s, found.count = time.monotonic() - right_s, found.count + 1
    key = f"{name}_recover_s"
    found.figures[key] = round(max(found.figures.get(key, 0.0), took_s), 2)
    if took_s > RECOVER_S_MAX * order.patience:
        place.wrong.append(f"{name}: taken again only after {took_s:.1f} s")
    for _ in range(10):  # every connection of the pool takes writes, not only the first one
        if not await place.send():
            place.wrong.append(f"{name}: refused after a message had been taken")


async def _judge_turn(place: Fleet, chat_id: str) -> None:
    try:
        await place.server.admin.until(chat_id, "idle", within_s=place.settle_s)
    except (TimeoutError, KeyError):
        place.wrong.append("the turn that was under way never ended")


async def _sum_up(place: Fleet, database: PrivatePostgres, found: Found) -> None:
    if not place.server.alive:
        place.wrong.append("the server died of it")
    else:
        await _judge_turn(place, place.chat_id)
    stored = "select parts::text from messages where chat_id = $1"
    connection = await asyncpg.connect(database.url)
    try:
        texts = [row["parts"] for row in await connection.fetch(stored, uuid_of(place.chat_id))]
    finally:
        await connection.close()
    for token in place.taken:
        times = sum(token in text for text in texts)
        if times != 1:
            place.wrong.append(f"a message that was taken is stored {times} times")
    found.violations += place.wrong
    place.wrong = []


async def _ask(server: PrivatePostgres, question: str, *values: Any) -> Any:
    connection = await asyncpg.connect(server.url)
    try:
        return await connection.fetchval(question, *values)
    finally:
        await connection.close()


async def _until(ask: Callable[[], Awaitable[Any]], within_s: float, otherwise: str) -> None:
    ends_s = time.monotonic() + within_s
    while not await ask():
        if time.monotonic() > ends_s:
            raise TimeoutError(otherwise)
        await asyncio.sleep(LOOKS_S)
