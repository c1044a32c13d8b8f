"""What an operation costs in statements, counted on the wire."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.chats.changes import ChangeRequest
from holdfast.chats.ledger import Ledger
from holdfast.domain.commands import (
    CommitStep,
    DeclareTools,
    EditMessage,
    FinishTurn,
    Restore,
    SendMessage,
)
from holdfast.domain.ids import Seq, Version
from tests.support.builders import ORG, OWNER, asks, reply, results, user
from tests.support.database import add_user, temporary_database
from tests.support.dispatch import dispatch_on
from tests.support.doubles import AlwaysRoom
from tests.support.wire import WireTap, tapped
from tests.support.world import ACTOR, TTL, World, postgres_world

TEN = [f"c{n}" for n in range(10)]


@dataclass
class Tapped:
    world: World
    tap: WireTap

    def since(self, before: int) -> int:
        return self.tap.statements - before


@pytest.fixture
async def tapped_world(template: str) -> AsyncGenerator[Tapped]:
    async with (
        temporary_database(template) as url,
        tapped(url) as tap,
        open_pool(tap.url, PoolOptions(connections_max=2)) as pool,
    ):
        await add_user(pool, ORG, OWNER)
        yield Tapped(postgres_world(pool), tap)


async def test_the_counter_counts(tapped_world: Tapped) -> None:
    before = tapped_world.tap.statements
    assert tapped_world.since(before) == 0
    await tapped_world.world.store.load(tapped_world.world.ids.new_chat_id())
    assert tapped_world.since(before) == 1
    assert before > 0, "the pool asked about durability, and users were added"


async def test_a_send_to_a_chat_that_we_left_at_rest_costs_one(tapped_world: Tapped) -> None:
    world = tapped_world.world
    chat = await world.create()
    before = tapped_world.tap.statements
    await world.do(chat.chat_id, SendMessage(user()), key="k")
    assert tapped_world.since(before) == 1
    await world.do(chat.chat_id, SendMessage(user()), key="k")
    assert tapped_world.since(before) == 2, "a repeat is answered from the receipt"


async def test_a_send_to_a_chat_of_others_costs_two(tapped_world: Tapped) -> None:
    world = tapped_world.world
    chat = await world.create()
    stranger = Ledger(world.store, world.hints, world.clock)
    before = tapped_world.tap.statements
    await stranger.transact(chat.chat_id, ChangeRequest((SendMessage(user()),), by=ACTOR))
    assert tapped_world.since(before) == 2


async def test_command_that_changes_nothing_costs_a_receipt_only_with_a_key(
    tapped_world: Tapped,
) -> None:
    world = tapped_world.world
    chat = await world.create()
    before = tapped_world.tap.statements
    await world.do(chat.chat_id, DeclareTools(()))
    assert tapped_world.since(before) == 1
    await world.do(chat.chat_id, DeclareTools(()), key="k")
    assert tapped_world.since(before) == 3


async def test_acquiring_costs_one_for_a_batch(tapped_world: Tapped) -> None:
    world = tapped_world.world
    for _ in range(20):
        await world.create(user())
    worker = await world.a_worker()
    before = tapped_world.tap.statements
    assert len(await world.acquire(worker, limit=20)) == 20
    assert tapped_world.since(before) == 1


async def test_a_step_with_ten_results_costs_one_and_its_finish_nothing(
    tapped_world: Tapped,
) -> None:
    world = tapped_world.world
    chat = await world.running(user())
    asked = await world.drive(chat, CommitStep((asks(*TEN),)))
    before = tapped_world.tap.statements
    answered = await world.drive(asked.chat, CommitStep((results(*TEN),)))
    assert tapped_world.since(before) == 1
    await world.drive(answered.chat, CommitStep((reply(),)), FinishTurn())
    assert tapped_world.since(before) == 2


async def test_a_heartbeat_costs_one_whatever_is_driven(tapped_world: Tapped) -> None:
    world = tapped_world.world
    for _ in range(30):
        await world.create(user())
    worker = await world.a_worker()
    await world.acquire(worker, limit=30)
    before = tapped_world.tap.statements
    assert await world.leases.heartbeat(worker, ttl=TTL)
    assert tapped_world.since(before) == 1


async def test_a_whole_turn_with_watching_nobody_costs_three(tapped_world: Tapped) -> None:
    world = tapped_world.world
    chat = await world.create()
    worker = await world.a_worker()
    before = tapped_world.tap.statements
    await world.do(chat.chat_id, SendMessage(user()))
    (acquired,) = await world.acquire(worker)
    await world.drive(acquired, CommitStep((reply(),)), FinishTurn())
    assert tapped_world.since(before) == 3


async def test_a_turn_that_is_taken_costs_two(tapped_world: Tapped) -> None:
    world = tapped_world.world
    worker = await world.a_worker()
    world.ledger = dispatch_on(world.store, world.hints, world.clock, AlwaysRoom(worker))
    chat = await world.create()
    before = tapped_world.tap.statements
    taken = await world.do(chat.chat_id, SendMessage(user()))
    assert taken.chat.worker_id == worker
    await world.drive(taken.chat, CommitStep((reply(),)), FinishTurn())
    assert tapped_world.since(before) == 2


async def test_an_edit_costs_two_and_a_restore_three(tapped_world: Tapped) -> None:
    world = tapped_world.world
    chat = await world.running(user())
    # The driver asks each connection once about array types that it meets for the first time.
    await world.do(chat.chat_id, SendMessage(user("waits")))
    await world.drive(await world.load(chat.chat_id), CommitStep((reply(),)), FinishTurn())
    before = tapped_world.tap.statements
    await world.do(chat.chat_id, EditMessage(Seq(1), user("again")))
    assert tapped_world.since(before) == 2
    await world.drive(await world.load(chat.chat_id), CommitStep((reply(),)), FinishTurn())
    before = tapped_world.tap.statements
    await world.do(chat.chat_id, Restore(Version(1)))
    assert tapped_world.since(before) == 3
