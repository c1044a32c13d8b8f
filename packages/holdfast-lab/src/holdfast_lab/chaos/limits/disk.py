"""The disk of PostgreSQL is filled while people talk: that of its data, and that of its log.

A full disk of data fails statements; a full disk of the log stops the server, which its operator
starts again once there is space. Ours stay up through both, refuse what they cannot keep, and go on
by themselves.
"""

import asyncio
import os
import random
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg

from holdfast.bootstrap.server import as_they_are
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.limits.crowd import Crowd
from holdfast_lab.chaos.stage.door import Around, open_door
from holdfast_lab.chaos.stage.private_postgres import PrivatePostgres, postgres_in, servers_user
from holdfast_lab.chaos.stage.small_disk import SmallDisk, small_disk
from holdfast_lab.chaos.stage.theatre import theatre
from holdfast_lab.chaos.streams.cell import QUICK
from holdfast_lab.chaos.turns.trials import settings_for

CHATS: Final = 6
DATA_MB: Final = 128
LOG_MB: Final = 40
FRUGAL: Final = {
    # A log that is written in small pieces which are not kept: it needs space all the time.
    "min_wal_size": "2MB",
    "max_wal_size": "8MB",
    "wal_recycle": "off",
}
STRUCK_S: Final = 15.0
"""For the first refusal: until then there is still room in what PostgreSQL has."""
FULL_S: Final = (0.3, 1.0)
BETWEEN_S: Final = (0.2, 0.6)
BACK_S_MAX: Final = 15.0
WAITS_S_MAX: Final = 12.0
"""A statement that is not answered counts as unavailable after ten seconds."""


@dataclass(frozen=True)
class Ground:
    """PostgreSQL, and the disks that it lies on."""

    postgres: PrivatePostgres
    disks: dict[str, SmallDisk]


@asynccontextmanager
async def on_small_disks() -> AsyncGenerator[Ground]:
    with tempfile.TemporaryDirectory(prefix="holdfast-full-") as name:
        folder = Path(name)
        with (
            small_disk(folder / "data", DATA_MB) as data,
            small_disk(folder / "log", LOG_MB) as log,
        ):
            _give(folder, data.folder, log.folder)
            where = ("--waldir", str(log.folder / "wal"), "--wal-segsize", "1")
            async with postgres_in(data.folder, FRUGAL, *where) as postgres:
                yield Ground(postgres, {"data": data, "log": log})


def _give(*folders: Path) -> None:
    if (as_user := servers_user()) is not None:
        for folder in folders:
            os.chown(folder, as_user, -1)


async def fill(order: Order, around: Around = as_they_are) -> Found:
    async with on_small_disks() as ground, theatre(database=_given(ground.postgres)) as stage:
        url = await stage.new_database()
        settings = settings_for(stage, url, "postgres", **QUICK)
        workers = [await stage.engage("worker", settings) for _ in range(2)]
        async with open_door({**settings, "role": "api"}, around) as door:
            crowd, found = Crowd(door, WAITS_S_MAX), Found(0)
            chance = random.Random(order.seed)
            async with crowd.talking(CHATS):
                for number in range(order.count):
                    disk = ("data", "log")[number % 2]
                    await asyncio.sleep(chance.uniform(*BETWEEN_S))
                    await _fill(ground, disk, crowd, chance.uniform(*FULL_S), found)
                    order.say(f"{disk}: full {found.count} times, {crowd.refused} refused")
            await crowd.check(found)
        found.violations += [f"{w.name} died of it" for w in workers if w.ended_at is not None]
    return found


@asynccontextmanager
async def _given(postgres: PrivatePostgres) -> AsyncGenerator[PrivatePostgres]:
    yield postgres


async def _fill(ground: Ground, name: str, crowd: Crowd, full_s: float, found: Found) -> None:
    disk = ground.disks[name]
    disk.fill()
    if name == "log":
        await _next_piece(ground.postgres)
    struck = await crowd.refused_within(STRUCK_S)
    await asyncio.sleep(full_s)
    disk.make_space()
    await _up_again(ground.postgres)
    back_s = await crowd.taken_again()
    found.count += struck
    longest_s = max(back_s, found.figures.get("back_max_s", 0.0))
    found.figures["back_max_s"] = round(longest_s, 2)
    if back_s > BACK_S_MAX:
        found.violations.append(f"{back_s:.1f} s until something was taken again ({name})")


async def _next_piece(postgres: PrivatePostgres) -> None:
    """The log goes on in another file, as it does by itself sooner or later: there is no room."""
    with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection = await asyncpg.connect(postgres.url)
        try:
            await connection.execute("select pg_switch_wal()")
        finally:
            connection.terminate()


async def _up_again(postgres: PrivatePostgres) -> None:
    """As its operator does it: who has given up is started again."""
    ends_s = time.monotonic() + 30
    while time.monotonic() < ends_s:
        if not await postgres.is_up():
            await postgres.start()
        try:
            connection = await asyncpg.connect(postgres.url)
        except (OSError, asyncpg.PostgresError):
            await asyncio.sleep(0.1)
        else:
            await connection.close()
            return
    raise TimeoutError("PostgreSQL did not come back")
