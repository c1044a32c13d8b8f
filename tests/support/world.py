"""A ledger on a store, real or fake, as contract and model tests see it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID

from holdfast.chats.ledger import Actor, Commit, Ledger
from holdfast.db.history import PostgresHistory
from holdfast.db.leases import PostgresLeases
from holdfast.db.pool import Pool
from holdfast.db.store import PostgresStore
from holdfast.db.verify import verify
from holdfast.domain.chat import Chat
from holdfast.domain.commands import Command, Create
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey, OrgId, UserId, WorkerId
from holdfast.domain.messages import Message, MessageBody
from holdfast.ports.history import History
from holdfast.ports.leases import Leases
from holdfast.ports.store import Keyed, Store
from tests.support.builders import ORG, OWNER
from tests.support.doubles import HandClock, KeptHints, SeededIds
from tests.support.fake_store import FakeStore

TTL = timedelta(seconds=30)
RING = UUID(int=7)
ACTOR = Actor(ORG, OWNER)


class Lapse(Protocol):
    async def __call__(self, worker_id: WorkerId) -> None:
        """End a worker's lease as if its time had run out."""
        ...


class Check(Protocol):
    async def __call__(self, chat_ids: Sequence[ChatId]) -> list[str]:
        """The invariants that these chats break."""
        ...


@dataclass
class World:
    store: Store
    history: History
    leases: Leases
    lapse: Lapse
    violations: Check
    clock: HandClock
    hints: KeptHints = field(default_factory=KeptHints)
    ids: SeededIds = field(default_factory=SeededIds)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.store, self.hints, self.clock)

    async def create(self, *messages: MessageBody, owner: UserId = OWNER, org: OrgId = ORG) -> Chat:
        chat = Chat(chat_id=self.ids.new_chat_id(), org_id=org, owner_id=owner)
        return (await self.ledger.create(chat, Create(messages))).chat

    async def do(self, chat_id: ChatId, *commands: Command, key: str | None = None) -> Commit:
        keyed = None if key is None else keyed_by(key, commands)
        return await self.ledger.transact(chat_id, *commands, by=ACTOR, keyed=keyed)

    async def drive(self, chat: Chat, *commands: Command) -> Commit:
        """As the runner that holds this snapshot."""
        return await self.ledger.transact(chat.chat_id, *commands, by=Fence.of(chat), snapshot=chat)

    async def a_worker(self) -> WorkerId:
        worker_id = self.ids.new_worker_id()
        await self.leases.join(worker_id, name="worker", ttl=TTL)
        return worker_id

    async def acquire(self, worker_id: WorkerId, limit: int = 10) -> list[Chat]:
        return list(await self.leases.acquire(worker_id, limit=limit, ring_start=RING))

    async def running(self, *messages: MessageBody) -> Chat:
        """A chat that a new worker has just acquired."""
        chat = await self.create(*messages)
        (acquired,) = [
            c for c in await self.acquire(await self.a_worker()) if c.chat_id == chat.chat_id
        ]
        return acquired

    async def read(self, chat_id: ChatId) -> tuple[Message, ...]:
        return (await self.history.page(chat_id, limit=1000)).messages

    async def load(self, chat_id: ChatId) -> Chat:
        loaded = await self.store.load(chat_id)
        assert loaded is not None
        return loaded.facts.chat


def keyed_by(key: str, body: object) -> Keyed:
    return Keyed(ClientKey(key), repr(body).encode())


def fake_world() -> World:
    clock = HandClock()
    fake = FakeStore(clock)

    async def lapse(worker_id: WorkerId) -> None:
        fake.lapse(worker_id)

    async def violations(chat_ids: Sequence[ChatId]) -> list[str]:
        return []

    return World(fake, fake, fake, lapse, violations, clock)


def postgres_world(pool: Pool) -> World:
    async def lapse(worker_id: WorkerId) -> None:
        await pool.execute(
            "update workers set lease_until = clock_timestamp() - interval '1 s' where id = $1",
            worker_id,
        )

    async def violations(chat_ids: Sequence[ChatId]) -> list[str]:
        return [f"{v.rule} ({v.detail})" for v in await verify(pool, chat_ids)]

    return World(
        PostgresStore(pool),
        PostgresHistory(pool),
        PostgresLeases(pool),
        lapse,
        violations,
        HandClock(datetime.now(UTC)),
    )
