"""A worker beside chats that it cannot read: the healthy ones go on."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import Await, CommitStep, SendMessage
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import CallId, ChatId
from holdfast.domain.parts import Need
from holdfast.turn.interrupts import Interrupts
from holdfast.worker import reconcile as sync
from holdfast.worker.options import WorkerOptions
from tests.requirements import requirement
from tests.support.builders import asks, user
from tests.support.workers import Cell, Replica, real_cell, timings, until

FAST = WorkerOptions(
    lease=timings(60.0),
    acquire_every_s=0.25,
    sync_every_s=0.2,
    sweep_every_s=0.2,
    crash_pause_s=0.1,
)
HEALTHY = 8
SAFE_S = 60.0


@dataclass
class Place:
    cell: Cell
    sql: asyncpg.Connection

    async def row(self, chat_id: ChatId) -> asyncpg.Record:
        row = await self.sql.fetchrow("select * from chats where id = $1", chat_id)
        assert row is not None
        return row

    async def is_set_aside(self, chat_id: ChatId) -> bool:
        return (await self.row(chat_id))["set_aside_by"] is not None


@pytest.fixture
async def place(template: str) -> AsyncGenerator[Place]:
    async with real_cell("postgres", template) as cell:
        sql = await asyncpg.connect(cell.url)
        yield Place(cell, sql)
        await sql.close()


@requirement("L137", "L138")
@pytest.mark.parametrize("table", ["queued_messages", "messages"])
async def test_one_unreadable_chat_beside_healthy_ones(place: Place, table: str) -> None:
    """Acquired in one batch; unreadable in its facts, or in its history."""
    cell, sql = place.cell, place.sql
    healthy = [await cell.send(silently=True) for _ in range(HEALTHY)]
    poison = await cell.send(silently=True)
    if table == "queued_messages":
        await cell.do(poison.chat_id, SendMessage(user("queued")), silently=True)
    await sql.execute(f"update {table} set format = 2 where chat_id = $1", poison.chat_id)

    async def drive(chat: Chat, nudges: Interrupts) -> Chat:
        await cell.history.page(chat.chat_id, limit=10, as_of=chat.version)
        return await one.script.drive(chat, nudges)

    async with cell.replica(FAST, drive=drive) as one:
        await cell.until_idle(*healthy, within_s=SAFE_S)
        await until(lambda: place.is_set_aside(poison.chat_id), SAFE_S)
        row = await place.row(poison.chat_id)
        assert (row["status"], row["worker_id"]) == ("running", None)
        assert row["attempt"] - row["attempts_forgiven"] == 0
        assert "format 2" in row["set_aside_why"]
        assert (one.counters.set_aside, one.counters.acquires_failed) == (1, 0)
        for chat in healthy:
            assert (await cell.load(chat.chat_id)).attempt <= 1

        # Readable again, and cleared as the upgrade page says.
        await sql.execute(f"update {table} set format = 1")
        await sql.execute("update chats set set_aside_by = null")
        await cell.until_idle(poison, within_s=SAFE_S)


async def a_wait_past_its_deadline(place: Place, one: Replica) -> Chat:
    chat = await place.cell.send()
    await until(lambda: chat.chat_id in one.script.chat_ids, SAFE_S)
    await until(lambda: _awaits(place.cell, chat), SAFE_S)
    return chat


async def _awaits(cell: Cell, chat: Chat) -> bool:
    return (await cell.load(chat.chat_id)).status is Status.AWAITING


@requirement("L137")
@pytest.mark.parametrize("kind", ["unreadable", "unavailable", "our mistake"])
async def test_a_sweep_goes_on_past_a_chat_that_fails(
    place: Place, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, sql = place.cell, place.sql

    async def drive(chat: Chat, nudges: Interrupts) -> Chat:
        if chat.epoch > 1:
            return await one.script.drive(chat, nudges)
        step = CommitStep((asks("c1", needs=Need.ANSWER),))
        deadline = datetime.now(UTC) + timedelta(hours=1)
        one.script.started.append((0.0, chat))
        return await one.script.commit(
            chat, chat, step, Await(Need.ANSWER, (CallId("c1"),), deadline)
        )

    async with cell.replica(replace(FAST, sweep_max=3), drive=drive) as one:
        chats = [await a_wait_past_its_deadline(place, one) for _ in range(3)]
        bad = chats[0]
        if kind == "unreadable":
            await sql.execute(
                "update chats set awaiting = jsonb_set(awaiting, '{kind}', '\"child\"')"
                " where id = $1",
                bad.chat_id,
            )
        else:
            expire = sync.expire
            errors = {"unavailable": Unavailable("its row is locked"), "our mistake": ValueError()}

            async def refused(ledger: object, chat_id: ChatId) -> object:
                if chat_id == bad.chat_id:
                    raise errors[kind]
                return await expire(ledger, chat_id)  # pyright: ignore[reportArgumentType]

            monkeypatch.setattr(sync, "expire", refused)
        # In one statement, the bad one first: all of them are in one sweep.
        await sql.execute(
            "update chats set awaiting_until = clock_timestamp()"
            " - case when id = $1 then interval '2 h' else interval '1 h' end",
            bad.chat_id,
        )
        await cell.until_idle(*chats[1:], within_s=SAFE_S)
        if kind == "unreadable":
            await until(lambda: place.is_set_aside(bad.chat_id), SAFE_S)
