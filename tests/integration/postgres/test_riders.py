"""Riders in PostgreSQL: each is written with its commit, or not at all."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from holdfast.adapters.postgres import commits as commits_module
from holdfast.adapters.postgres import store as store_module
from holdfast.adapters.postgres.audit import PostgresAuditLog
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.riders import RIDERS
from holdfast.adapters.postgres.riders.statement import RiderStatement
from holdfast.domain.audit import AuditAction, AuditEntry, AuditHead
from holdfast.domain.chat import Chat, Facts
from holdfast.domain.commands import SendMessage
from holdfast.domain.decide import decide
from holdfast.domain.ids import Version
from holdfast.domain.outcome import Outcome
from holdfast.domain.rider import Rider
from holdfast.identity import audit
from tests.support.builders import NOW, ORG, OWNER, user
from tests.support.world import World, postgres_world

CROWD = 12
ENTRY = AuditEntry(org_id=ORG, at=NOW, action=AuditAction.CALL_APPROVED, actor_id=OWNER)


@dataclass(frozen=True, slots=True)
class Note(Rider):
    """A second kind, of which several ride on one commit."""

    text: str


def note_parameters(notes: Sequence[Note]) -> dict[str, Any]:
    return {"note_texts": [note.text for note in notes]}


NOTES = RiderStatement(
    block="""
, noted as (
    insert into notes (chat_id, version, text)
    select moved.id, moved.version, note.text
    from moved, unnest(:note_texts::text[]) as note (text)
)""",
    parameters=note_parameters,
)


@pytest.fixture
def world(pool: Pool) -> World:
    return postgres_world(pool)


@pytest.fixture
async def with_notes(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    await pool.execute("create table notes (chat_id uuid, version bigint, text text)")
    monkeypatch.setitem(RIDERS, Note, NOTES)
    uncached = commits_module.commit_query.__wrapped__
    monkeypatch.setattr(store_module, "commit_query", uncached)


def sent(world: World, chat: Chat, *riders: Rider) -> Outcome:
    outcome = decide(Facts(chat=chat), SendMessage(user("more")), world.clock.now())
    return replace(outcome, riders=riders)


async def actions(pool: Pool) -> list[str]:
    return [row.action for row in await PostgresAuditLog(pool).rows(ORG, after_seq=0, limit=100)]


async def test_rider_is_written_with_its_commit(world: World, pool: Pool) -> None:
    chat = await world.create()
    assert await world.store.commit(sent(world, chat, ENTRY))
    assert await actions(pool) == ["call.approved"]
    stored = await world.load(chat.chat_id)
    assert (stored.version, stored.last_seq) == (chat.version + 1, 1)
    assert await world.violations([chat.chat_id]) == []


async def test_rider_of_a_refused_commit_is_not_written(world: World, pool: Pool) -> None:
    chat = replace(await world.create(), version=Version(7))
    assert await world.store.commit(sent(world, chat, ENTRY)) is None
    assert await actions(pool) == []


async def test_commits_with_audit_entries_share_no_transaction(world: World, pool: Pool) -> None:
    """An entry locks the head of its log: commits that share its transaction would hold it."""
    chats = [await world.create(user("first")) for _ in range(CROWD)]
    told = await asyncio.gather(*(world.store.commit(sent(world, chat, ENTRY)) for chat in chats))
    assert all(told)
    ids = [chat.chat_id for chat in chats]
    written = "select count(distinct xmin::text) from chats where id = any($1)"
    assert await pool.fetchval(written, ids) == CROWD
    assert isinstance(await audit.verify(PostgresAuditLog(pool), ORG), AuditHead)
    assert len(await actions(pool)) == CROWD


@pytest.mark.usefixtures("with_notes")
async def test_another_kind_rides_beside_by_its_statement_alone(world: World, pool: Pool) -> None:
    """What CONTRIBUTING promises of "Add a rider": a value, a statement, a line."""
    chat = await world.create()
    assert await world.store.commit(sent(world, chat, Note("a"), ENTRY, Note("b")))
    rows = await pool.fetch("select * from notes order by text")
    assert [tuple(row) for row in rows] == [(chat.chat_id, 2, "a"), (chat.chat_id, 2, "b")]
    assert await actions(pool) == ["call.approved"]


@pytest.mark.usefixtures("with_notes")
async def test_rider_without_a_lock_of_its_own_shares_transactions(
    world: World, pool: Pool
) -> None:
    chats = [await world.create(user("first")) for _ in range(CROWD)]
    told = await asyncio.gather(
        *(world.store.commit(sent(world, chat, Note(str(n)))) for n, chat in enumerate(chats))
    )
    assert all(told)
    assert await pool.fetchval("select count(distinct text) from notes") == CROWD
    assert await pool.fetchval("select count(distinct xmin::text) from notes") < CROWD


async def test_rider_on_a_new_chat_is_refused_not_dropped(world: World) -> None:
    chat = await world.create()
    with pytest.raises(AssertionError, match="riders ride on commits"):
        await world.store.create(sent(world, chat, ENTRY))
