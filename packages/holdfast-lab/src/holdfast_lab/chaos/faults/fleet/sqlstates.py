"""The database answers every statement of a server with an error, class after class.

People talk, read and watch meanwhile. Each statement that the server makes, in a background loop or
for a person, fails once with the code of each class; a new connection does, too. No class may end
the process, and none but our own mistakes may be answered 500.
"""

import asyncio
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import asyncpg

from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.fleet.refusing import COMMITS, Refusing, refusing_line
from holdfast_lab.chaos.faults.workers.trials import settings_for
from holdfast_lab.chaos.harness.client import Answer, Client
from holdfast_lab.chaos.harness.cluster import Theatre, theatre
from holdfast_lab.chaos.harness.served import Served, served

CODES: Final = (
    *("08006", "0A000", "22P02", "23505", "25006", "26000", "28P01", "2D000", "3D000", "40001"),
    *("40P01", "42501", "42P01", "53100", "53300", "54001", "55P03", "57014", "57P01", "58030"),
    *("F0000", "P0001", "XX000", "XX001", "ZZ999"),
)
"""At least one of each class that a server can meet; the last one is in no manual."""
OUR_MISTAKES: Final = frozenset({"22P02", "23505", "42P01"})
"""Of the statement itself: the only ones that are answered 500."""
SERVERS: Final = 3
EACH: Final = 1
ROUND_S: Final = 2.2
"""Longer than the polls of lists, settings and chats, which come every second or two."""
WELL_S: Final = 30.0
GIVEN_UP_S: Final = 60.0
LONG_TURN: Final = "[[sim: count=30 | rate=10]]"
SETTINGS: Final[dict[str, Any]] = {"lease_ttl_s": 6.0, "heartbeat_every_s": 1.0, "drain_s": 5.0}
TALK: Final = '[[sim: say "one two three" | rate=100]]'


@dataclass
class Place:
    server: Served
    line: Refusing
    found: Found
    answers: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])

    @property
    def admin(self) -> Client:
        return self.server.admin


async def refuse(
    order: Order,
    codes: tuple[str, ...] = CODES,
    mutant: str | None = None,
    *,
    shares_fate: bool = True,
    within_s: float = GIVEN_UP_S,
) -> Found:
    """So many errors at least; every code, whatever the number."""
    found = Found(0)
    shares = [codes[number::SERVERS] for number in range(SERVERS)]
    async with theatre() as stage, asyncio.TaskGroup() as servers:
        for share in shares:
            if share:
                servers.create_task(_refuse_at_one(stage, share, order, found, mutant))
        if shares_fate:
            servers.create_task(_refuse_commits(stage, found, mutant, within_s))
    found.figures |= {
        "sqlstate_codes": len(codes),
        "sqlstate_classes": len({code[:2] for code in codes}),
        "process_deaths": found.figures.get("process_deaths", 0),
    }
    return found


async def _refuse_at_one(
    stage: Theatre, codes: tuple[str, ...], order: Order, found: Found, mutant: str | None
) -> None:
    url, share = await stage.new_database(), order.count // SERVERS
    async with refusing_line(url, EACH) as line:
        settings = settings_for(stage, line.instead_of(url), "postgres", **SETTINGS)
        async with served(settings, mutant) as server:
            place = Place(server, line, found)
            done = 0
            while True:
                for code in codes:
                    await _round(place, code)
                    if not server.alive:
                        found.figures["process_deaths"] = found.figures.get("process_deaths", 0) + 1
                        found.violations.append(f"the server died of {code}: {_last(server)}")
                        return
                    now = sum(line.refused.values())
                    found.count, done = found.count + now - done, now
                    order.say(f"{code}: {found.count} statements failed")
                if done >= share:
                    break
                line.refused.clear()
                done = 0
            found.violations += await _unwell(url)
    kinds = len({statement for _, statement in line.refused})
    found.figures["statements"] = max(found.figures.get("statements", 0), kinds)


async def _refuse_commits(
    stage: Theatre, found: Found, mutant: str | None, within_s: float
) -> None:
    """Of one server, whose heartbeats are answered: its chat goes to a healthy server."""
    url = await stage.new_database()
    async with refusing_line(url) as line:
        settings = settings_for(stage, line.instead_of(url), "postgres", **SETTINGS)
        async with served(settings, mutant) as ill:
            chat_id = await ill.admin.new_chat(LONG_TURN)
            line.only = COMMITS
            line.begin("53100")
            began_s = time.monotonic()
            healthy_settings = settings_for(stage, url, "postgres", **SETTINGS)
            async with served(healthy_settings) as healthy:
                try:
                    await healthy.admin.until(chat_id, "idle", within_s=within_s)
                except TimeoutError:
                    found.violations.append("the lease of a server without commits is kept")
                found.figures["taken_over_s"] = round(time.monotonic() - began_s, 1)
            if not ill.alive:
                found.violations.append(f"the server died of refused commits: {_last(ill)}")
    found.count += sum(line.refused.values())


async def _round(place: Place, code: str) -> None:
    """One code for a while, beside people; then all is well again."""
    admin = place.admin
    chat_id = await _well(place)
    if chat_id is None:
        return
    ends_s = time.monotonic() + ROUND_S
    async with asyncio.TaskGroup() as people:
        for watched in (chat_id, ""):
            people.create_task(_watch(admin, watched, ends_s))
        place.line.begin(code)
        people.create_task(_talk(place, chat_id, code, ends_s))
        people.create_task(_look(place, chat_id, code, ends_s))
    place.line.end()
    if await _well(place) is None and place.server.alive:
        place.found.violations.append(f"{code}: no turn ended within {WELL_S:.0f} s afterwards")


async def _well(place: Place) -> str | None:
    """The id of a new chat that was answered."""
    ends_s = time.monotonic() + WELL_S
    while time.monotonic() < ends_s and place.server.alive:
        with suppress(aiohttp.ClientError, TimeoutError, AssertionError, KeyError):
            if (await place.admin.get("/readyz")).status == 200:
                chat_id = await place.admin.new_chat(TALK)
                await place.admin.until(chat_id, "idle", within_s=ends_s - time.monotonic())
                return chat_id
        await asyncio.sleep(0.1)
    return None


async def _watch(admin: Client, chat_id: str, ends_s: float) -> None:
    """A stream, opened again whenever it ends."""
    while (left_s := ends_s - time.monotonic()) > 0:
        with suppress(aiohttp.ClientError, TimeoutError, AssertionError):
            async with asyncio.timeout(left_s), admin.stream(chat_id) as events:
                async for _ in events:
                    pass
        await asyncio.sleep(0.1)


async def _talk(place: Place, chat_id: str, code: str, ends_s: float) -> None:
    where = f"chats/{chat_id}"
    while time.monotonic() < ends_s:
        await _ask(place, code, "POST", f"{where}/messages", {"text": f"more {TALK}"})
        await _ask(place, code, "POST", "chats", {"message": {"text": TALK}})
        await _ask(place, code, "POST", f"{where}/interrupt")
        await asyncio.sleep(0.1)


async def _look(place: Place, chat_id: str, code: str, ends_s: float) -> None:
    where = f"chats/{chat_id}"
    while time.monotonic() < ends_s:
        mine = ("chats", "me", "/readyz", "organization/settings", "api-keys")
        for path in (where, f"{where}/messages", *mine):
            await _ask(place, code, "GET", path)
        await asyncio.sleep(0.1)


async def _ask(place: Place, code: str, method: str, path: str, body: object = None) -> None:
    try:
        said: Answer = await place.admin.ask(method, path, body, raw=None)
    except (aiohttp.ClientError, TimeoutError):
        if place.server.alive:
            await asyncio.sleep(0.1)
            if place.server.alive:
                place.found.violations.append(f"{code}: {method} {path} was not answered")
        return
    place.answers[code, said.status] += 1
    if said.status >= 500 and said.status != 503 and code not in OUR_MISTAKES:
        place.found.violations.append(f"{code}: {method} {path} was answered {said.status}")


async def _unwell(url: str) -> list[str]:
    """Chats that no worker drives to an end once the database is well."""
    connection, open_ = await asyncpg.connect(url), 0
    try:
        async with asyncio.timeout(WELL_S):
            while True:
                open_ = await connection.fetchval(
                    "select count(*) from chats where status in ('running', 'interrupting')"
                )
                if not open_:
                    return []
                await asyncio.sleep(0.1)
    except TimeoutError:
        return [f"{open_} chats are driven by no worker afterwards"]
    finally:
        await connection.close()


def _last(server: Served) -> str:
    return " / ".join(server.lines[-3:])[-600:]
