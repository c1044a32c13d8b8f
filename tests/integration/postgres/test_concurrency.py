"""Real parallel connections: whoever is faster wins, and everybody else is told."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

import pytest

from holdfast.adapters.postgres.pool import Pool
from holdfast.chats.changes import ChangeRequest, Commit
from holdfast.chats.create import create
from holdfast.chats.ledger import Ledger
from holdfast.domain.chat import QUEUE_LENGTH_MAX, Chat
from holdfast.domain.commands import (
    Command,
    CommitStep,
    FinishTurn,
    PromoteQueued,
    SendMessage,
    TakeQueued,
)
from holdfast.domain.errors import ChatBusy, CommandRefused, FenceStale, QueueFull
from holdfast.domain.ids import ChatId, QueuedId, WorkerId
from tests.model.faults import FaultyStore
from tests.requirements import requirement
from tests.support.builders import reply, user
from tests.support.doubles import SeededIds
from tests.support.world import ACTOR, World, keyed_by, postgres_world


@pytest.fixture
def world(pool: Pool) -> World:
    return postgres_world(pool)


async def all_of(*coroutines: Coroutine[Any, Any, Commit]) -> list[Commit | BaseException]:
    return await asyncio.gather(*coroutines, return_exceptions=True)


async def race(world: World, chat_id: ChatId, *commands: Command) -> list[Commit | BaseException]:
    return await all_of(*(world.do(chat_id, command) for command in commands))


@requirement("M1")
async def test_the_same_key_at_once_makes_one_message(world: World) -> None:
    chat = await world.running(user())
    done = await all_of(
        *(world.do(chat.chat_id, SendMessage(user("once")), key="k") for _ in range(50))
    )
    commits = [commit for commit in done if isinstance(commit, Commit)]
    assert len(commits) == 50
    assert len({commit.answer for commit in commits}) == 1
    assert sum(not commit.repeated for commit in commits) == 1
    assert len((await world.load(chat.chat_id)).queue) == 1


@requirement("M1")
async def test_the_same_key_at_once_makes_one_chat(world: World) -> None:
    made = await all_of(
        *(
            create(world.ledger, SeededIds(n), ACTOR, (user(),), keyed=keyed_by("k", "body"))
            for n in range(20)
        )
    )
    assert {commit.chat.chat_id for commit in made if isinstance(commit, Commit)} == {
        made[0].chat.chat_id if isinstance(made[0], Commit) else None
    }


@requirement("M1", "M2", "S2")
async def test_different_sends_at_once_all_land_once_in_some_order(world: World) -> None:
    chat = await world.running(user())
    sends = [SendMessage(user(f"m{n}")) for n in range(40)]
    done = await race(world, chat.chat_id, *sends)
    assert [type(commit) for commit in done] == [Commit] * 40
    after = await world.load(chat.chat_id)
    assert after.version == chat.version + 40
    assert Counter(q.head for q in after.queue) == Counter(s.message for s in sends)
    assert await world.violations([chat.chat_id]) == []


async def test_a_full_queue_refuses_and_inserts_nothing(world: World) -> None:
    chat = await world.running(user())
    sends = [SendMessage(user(f"m{n}")) for n in range(QUEUE_LENGTH_MAX + 15)]
    done = await race(world, chat.chat_id, *sends)
    refused = [error for error in done if isinstance(error, QueueFull)]
    assert len(refused) == 15
    assert len((await world.load(chat.chat_id)).queue) == QUEUE_LENGTH_MAX
    assert await world.violations([chat.chat_id]) == []


@requirement("S10")
async def test_one_queued_message_has_one_fate(world: World) -> None:
    for _ in range(10):
        chat = await world.running(user())
        await world.do(chat.chat_id, SendMessage(user("wanted by all")))
        runner = world.drive(chat, CommitStep((reply(),)), FinishTurn())
        wishes = (TakeQueued, TakeQueued, TakeQueued, PromoteQueued)
        done = await all_of(runner, *(world.do(chat.chat_id, w(QueuedId(1))) for w in wishes))
        said, _ = await world.everything(chat.chat_id)
        took = [c for c in done[1:4] if isinstance(c, Commit)]
        assert len(took) + said.count("wanted by all") == 1
        assert all(isinstance(r, Commit | CommandRefused) for r in done)
        assert await world.violations([chat.chat_id]) == []


@requirement("L72", "L80")
async def test_parallel_acquirers_never_share_a_chat(world: World) -> None:
    for _ in range(30):
        await world.create(user())
    workers = [await world.a_worker() for _ in range(8)]
    rounds: list[Chat] = []
    for turn in range(20):
        got = await asyncio.gather(
            *(
                world.leases.acquire(worker, limit=3, ring_start=UUID(int=turn))
                for worker in workers
            )
        )
        assert all(len(each.chats) <= 3 for each in got), "capacity is never exceeded"
        rounds += [chat for each in got for chat in each.chats]
        if len(rounds) == 30:
            break
    assert len({chat.chat_id for chat in rounds}) == len(rounds) == 30
    assert {chat.epoch for chat in rounds} == {1}


@requirement("S4", "L72")
async def test_of_two_runners_with_one_snapshot_one_commits(world: World) -> None:
    for _ in range(10):
        chat = await world.running(user())
        done = await all_of(
            *(world.drive(chat, CommitStep((reply(f"r{n}"),)), FinishTurn()) for n in range(6))
        )
        assert sum(isinstance(commit, Commit) for commit in done) == 1
        assert all(isinstance(r, Commit | FenceStale) for r in done)
        assert len(await world.read(chat.chat_id)) == 2


async def test_a_takeover_beats_the_answer_on_its_way(world: World) -> None:
    for _ in range(10):
        chat = await world.running(user())
        assert chat.worker_id is not None
        await world.lapse(chat.worker_id)
        successor = await world.a_worker()
        answer, taken = await asyncio.gather(
            world.drive(chat, CommitStep((reply(),)), FinishTurn()),
            world.acquire(successor),
            return_exceptions=True,
        )
        assert not isinstance(taken, BaseException)
        if taken:
            assert isinstance(answer, FenceStale)
            await world.drive(taken[0], CommitStep((reply(),)), FinishTurn())
        else:
            assert isinstance(answer, Commit)
        assert len(await world.read(chat.chat_id)) == 2
        assert await world.violations([chat.chat_id]) == []


class AlwaysOvertaken(FaultyStore):
    """A store on which somebody else is always faster."""

    async def commit(self, *_: object, **__: object) -> None:  # type: ignore[override]
        return None


async def test_who_is_always_overtaken_gives_up_in_the_end(world: World) -> None:
    chat = await world.running(user())
    ledger = Ledger(AlwaysOvertaken(world.store), world.hints, world.clock)
    with pytest.raises(ChatBusy):
        await ledger.transact(chat.chat_id, ChangeRequest((SendMessage(user()),), by=ACTOR))


class MadeAndGone(FaultyStore):
    """A store on which the chat of a key is deleted between two statements."""

    async def create(self, *_: object, **__: object) -> None:  # type: ignore[override]
        return None

    async def find_created(self, *_: object, **__: object) -> None:  # type: ignore[override]
        return None


async def test_a_chat_that_vanishes_between_two_statements_is_busy(world: World) -> None:
    ledger = Ledger(MadeAndGone(world.store), world.hints, world.clock)
    with pytest.raises(ChatBusy):
        await create(ledger, world.ids, ACTOR, (user(),), keyed=keyed_by("k", "body"))


@requirement("M1", "S3")
async def test_a_chat_is_acquired_with_the_queue_that_belongs_to_its_version(world: World) -> None:
    """An acquire that waits for nobody may find a row newer than the statement's snapshot; the
    queue is read by the snapshot. Such a chat must be left for the next time."""
    for _ in range(12):
        chats = [await world.create(user()) for _ in range(60)]
        worker = await world.a_worker()
        acquired: list[Chat] = []

        async def acquire(worker: WorkerId = worker, acquired: list[Chat] = acquired) -> None:
            while len(acquired) < 60:
                acquired += await world.acquire(worker, limit=60)

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for chat in chats:
                group.create_task(world.do(chat.chat_id, SendMessage(user("next"))))
            group.create_task(acquire())

        for chat in acquired:
            queued = [] if chat.queue_version == 0 else [user("next")]
            assert [entry.head for entry in chat.queue] == queued, chat
        await world.leases.leave(worker)
        await world.clear([chat.chat_id for chat in chats])
