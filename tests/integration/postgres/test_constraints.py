"""The database itself refuses what the domain never does; and `verify` sees what slips through."""

from dataclasses import replace

import asyncpg
import pytest

from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.verify import verify
from holdfast.chats.changes import ChangeRequest
from holdfast.domain.commands import Await, CommitStep, Fail, FinishTurn, SendMessage
from holdfast.domain.fence import Fence
from holdfast.domain.ids import CallId
from holdfast.domain.parts import Need
from holdfast.domain.prefix import PromptPrefix
from tests.requirements import requirement
from tests.support.builders import asks, error, reply, results, user
from tests.support.world import postgres_world

FORBIDDEN = [
    "status = 'sleeping'",
    "version = 0",
    "history_version = version + 1",
    "queue_version = -1",
    "last_seq = -1",
    "attempts_forgiven = attempt + 1",
    "open_calls = '{}'",
    "error = '{}'",
    "awaiting = '{}'",
    "awaiting_until = now()",
    "runnable_since = null",
    "archived_at = now()",
    "client_key = 'k'",
    "worker_id = gen_random_uuid()",
    "owner_id = gen_random_uuid()",
    "status = 'failed', runnable_since = null, worker_id = null",
    "status = 'idle', runnable_since = null, worker_id = null, queue_length = 1",
    "status = 'idle', runnable_since = null",
    "status = 'idle', runnable_since = null, worker_id = null",  # a reply is owed
    "status = 'interrupting', backoff = '{}'",
]


@requirement("S3", "S8")
@pytest.mark.parametrize("change", FORBIDDEN)
async def test_the_database_refuses(pool: Pool, change: str) -> None:
    chat = await postgres_world(pool).running(user())
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await pool.execute(f"update chats set {change} where id = $1", chat.chat_id)


BREAKAGES = {
    "S3: last_seq": "update chats set last_seq = last_seq + 1",
    "S3: turn_seq": "update chats set turn_seq = 2",
    "S3: a message names": "update messages set turn_seq = 2 where seq = 3",
    "M2: a gap": "update messages set seq = seq + 1 where seq = (select max(seq) from messages)",
    "S2: revision falls": "update messages set revision = revision + 3 where seq = 1",
    "S6: epoch falls": "update messages set epoch = 9 where seq = 1",
    "S2: a message is newer": "update messages set epoch = 9 where seq = 3",
    "S3: history_version": "update chats set history_version = history_version - 1",
    "S3: queue_length": "update chats set queue_length = queue_length + 1",
    "S10: two queued": "update queued_messages set position = 1",
    "S10: promoted, but": (
        "update queued_messages set removed_revision = revision + 1, fate = 'promoted',"
        " promoted_seq = 2 where id = 1"
    ),
    "M3: a call with more": (
        "insert into messages (chat_id, seq, revision, epoch, role, ending, visibility, format,"
        " parts) select chat_id, 4, revision, epoch, role, ending, visibility, format, parts"
        " from messages where role = 'tool'"
    ),
    "M3: an unanswered call": "delete from messages where role = 'tool'",
    "M3: an open call that": ("""update chats set open_calls = '[{"call_id": "c1"}]'"""),
    "M3: a result without": (
        "update messages set removed_revision = revision + 1 where role = 'assistant'"
    ),
    "M3: a user message before": (
        "insert into messages (chat_id, seq, revision, epoch, role, ending, visibility, format,"
        " parts) select chat_id, 0 + 4, 3, 1, 'user', 'complete', 'both', 1, '[]' from messages"
        " where seq = 1; update messages set seq = 9 where role = 'tool'"
    ),
    "S3: a prefix that": "delete from prompt_prefixes",
    "S3: a prefix is not": "update prompt_prefixes set content = content || ' '",
    "M1: a receipt": "update receipts set version = 99",
}


@requirement("S3", "M1", "M2", "M3", "S6", "S10")
@pytest.mark.parametrize("rule", BREAKAGES)
async def test_verify_finds(pool: Pool, rule: str) -> None:
    world = postgres_world(pool)
    chat = await world.running(user())
    prefix = PromptPrefix.of("\ue000 and {}")
    step = CommitStep((replace(asks("c1"), prefix=prefix.digest),))
    request = ChangeRequest((step,), by=Fence.of(chat), riders=(prefix,), snapshot=chat)
    asked = await world.ledger.transact(chat.chat_id, request)
    await world.drive(asked.chat, CommitStep((results("c1"),)))
    await world.do(chat.chat_id, SendMessage(user()), key="k")
    await world.do(chat.chat_id, SendMessage(user()))
    assert await verify(pool) == []

    await pool.execute(BREAKAGES[rule])

    assert any(found.rule.startswith(rule) for found in await verify(pool))


async def test_verify_is_silent_about_healthy_chats_of_every_kind(pool: Pool) -> None:
    world = postgres_world(pool)
    await world.create()
    done = await world.running(user())
    await world.drive(done, CommitStep((reply(),)), FinishTurn())
    failed = await world.running(user())
    await world.drive(failed, CommitStep((asks("c1"),)), Fail(error()))
    waits = await world.running(user())
    await world.drive(
        waits, CommitStep((asks("c1", needs=Need.LOGIN),)), Await(Need.LOGIN, (CallId("c1"),))
    )
    assert await verify(pool) == []
