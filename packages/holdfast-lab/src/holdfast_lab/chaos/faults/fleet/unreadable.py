"""Rows that this version cannot read, beside chats that it can: only their own chats are set aside.

The rows are poisoned before any worker acquires, so that one acquire takes healthy and unreadable
chats together: a message, a queued message, and what a chat waits for.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import asyncpg

from holdfast.domain.public_ids import CHAT_ID
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.streams.cell import QUICK
from holdfast_lab.chaos.faults.workers.trials import settings_for
from holdfast_lab.chaos.harness.client import Client, uuid_of
from holdfast_lab.chaos.harness.cluster import theatre
from holdfast_lab.chaos.harness.replica import open_door

Row = Literal["message", "queued message", "awaiting", "open call"]
ROWS: Final[tuple[Row, ...]] = get_args(Row)
POISON: Final[dict[Row, str]] = {
    "message": "update messages set format = 2 where chat_id = $1",
    "queued message": "update queued_messages set format = 2 where chat_id = $1",
    "awaiting": """
        update chats set status = 'awaiting', runnable_since = null, worker_id = null,
            awaiting = '{"kind":"of a newer version","calls":[]}',
            awaiting_until = clock_timestamp() - interval '1 minute'
        where id = $1
    """,
    "open call": """
        update chats set open_calls
            = '[{"call_id":"c1","tool":"t","seq":1,"epoch":1,"needs":"of a newer version"}]'
        where id = $1
    """,
}
HEALTHY_EACH: Final = 4
"""Healthy chats for each unreadable one."""
BATCH_MAX: Final = 12
SAID: Final = "all is well"
ASKED: Final = f'[[sim: say "{SAID}"]]'
WITHIN_S: Final = 30.0
LOOKS_S: Final = 0.1
ASIDE: Final = """
    select id, set_aside_at is not null as aside, status, attempt - attempts_forgiven as tries
    from chats
"""


@dataclass
class Chats:
    healthy: list[str] = field(default_factory=list[str])
    unreadable: dict[str, Row] = field(default_factory=dict[str, Row])


async def set_aside(order: Order, mutant: str | None = None, within_s: float = WITHIN_S) -> Found:
    """So many rows, of every kind as often."""
    found = Found(0)
    async with theatre() as stage:
        while found.count < order.count:
            size = min(BATCH_MAX, order.count - found.count)
            batch: list[Row] = [ROWS[number % len(ROWS)] for number in range(size)]
            url = await stage.new_database()
            settings = settings_for(stage, url, "postgres", **QUICK)
            async with open_door({**settings, "role": "api"}) as door:
                chats = await _poisoned(door.admin, url, batch)
                worker = await stage.engage("worker", settings, mutant=mutant)
                await _judge(door.admin, url, chats, found, within_s * order.patience)
                if worker.ended_at is not None:
                    found.violations.append("the worker died of it")
                stage.dismiss(worker)
            found.count += len(batch)
            order.say(f"{found.count} rows that cannot be read")
    return found


async def _poisoned(admin: Client, url: str, rows: Sequence[Row]) -> Chats:
    chats = Chats()
    connection = await asyncpg.connect(url)
    try:
        for row in rows:
            chats.healthy += [await admin.new_chat(ASKED) for _ in range(HEALTHY_EACH)]
            chat_id = await admin.new_chat(ASKED)
            said = await admin.post(f"chats/{chat_id}/messages", {"text": ASKED})
            assert said.status == 202, said.raw
            await connection.execute(POISON[row], uuid_of(chat_id))
            chats.unreadable[chat_id] = row
    finally:
        await connection.close()
    return chats


async def _judge(admin: Client, url: str, chats: Chats, found: Found, within_s: float) -> None:
    ends_s = time.monotonic() + within_s
    rows: dict[str, Any] = {}
    connection = await asyncpg.connect(url)
    try:
        while time.monotonic() < ends_s:
            rows = {CHAT_ID.encode(row["id"]): row for row in await connection.fetch(ASIDE)}
            if _all_well(chats, rows):
                break
            await asyncio.sleep(LOOKS_S)
    finally:
        await connection.close()
    found.violations += _wrong(chats, rows)
    found.violations += await _not_told(admin, chats)


def _all_well(chats: Chats, rows: dict[str, Any]) -> bool:
    idle = all(rows[each]["status"] == "idle" for each in chats.healthy)
    return idle and all(rows[each]["aside"] for each in chats.unreadable)


def _wrong(chats: Chats, rows: dict[str, Any]) -> list[str]:
    wrong: list[str] = []
    for chat_id in chats.healthy:
        status, tries = rows[chat_id]["status"], rows[chat_id]["tries"]
        if status != "idle":
            wrong.append(f"a healthy chat is {status} after {tries} attempts")
        if rows[chat_id]["aside"]:
            wrong.append("a healthy chat was set aside")
    for chat_id, row in chats.unreadable.items():
        if not rows[chat_id]["aside"]:
            wrong.append(f"{row}: its chat was not set aside, it is {rows[chat_id]['status']}")
        if rows[chat_id]["status"] == "failed":
            wrong.append(f"{row}: its chat was failed")
    return wrong


async def _not_told(admin: Client, chats: Chats) -> list[str]:
    """Each healthy chat is read whole, and an unreadable one says what is the matter."""
    asked = [*chats.healthy, *chats.unreadable]
    async with asyncio.TaskGroup() as reads:  # together: they share their reads of the database
        told = {each: reads.create_task(admin.get(f"chats/{each}/messages")) for each in asked}
    answers = {each: task.result() for each, task in told.items()}
    wrong = [
        f"a healthy chat is not told: {answers[each].status}"
        for each in chats.healthy
        if answers[each].status != 200 or SAID not in answers[each].raw.decode()
    ]
    for each, row in chats.unreadable.items():
        said = answers[each]
        if said.status not in (200, 503):
            wrong.append(f"{row}: its reader was answered {said.status}")
    listed = await admin.get("chats?limit=200")
    if listed.status != 200:
        wrong.append(f"the list was answered {listed.status}")
    return wrong
