"""A ledger on a store, real or fake, as contract and model tests see it."""

from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol
from uuid import UUID

from holdfast.adapters.postgres.history import PostgresHistory
from holdfast.adapters.postgres.leases import PostgresLeases
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.adapters.postgres.verify import verify
from holdfast.chats.changes import ChangeRequest, ChatWriter, Commit
from holdfast.domain.chat import Chat
from holdfast.domain.commands import Command, Create
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey, OrgId, UserId, WorkerId
from holdfast.domain.messages import Message, MessageBody
from holdfast.ports.history import History
from holdfast.ports.leases import Leases
from holdfast.ports.store import IdempotencyKey, Store
from holdfast_lab.chaos.harness.people import ACTOR as ACTOR
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user
from tests.support.dispatch import dispatch_on
from tests.support.doubles import HandClock, KeptHints, SeededIds
from tests.support.fake_store import FakeStore
from tests.support.known_settings import KnownSettings

TTL = timedelta(hours=1)
"""No lease ends by itself while a test runs, however slow the machine is: `World.lapse` ends it."""
RING = UUID(int=7)
KEYS = (("chats", "id"), ("messages", "chat_id"), ("queued_messages", "chat_id"))
KEPT = "select coalesce(json_agg(r), '[]')::text from {0} as r where r.{1} = $1"
SET_BACK = "insert into {0} select * from json_populate_recordset(null::{0}, $1::text::json)"


class Lapse(Protocol):
    async def __call__(self, worker_id: WorkerId) -> None:
        """End a worker's lease as if its time had run out."""
        ...


class AddOwner(Protocol):
    async def __call__(self, org_id: OrgId, user_id: UserId) -> None: ...


class Disable(Protocol):
    async def __call__(self, user_id: UserId) -> None:
        """Disable a user, as the store of accounts does."""
        ...


class PassDeadline(Protocol):
    async def __call__(self, chat: Chat) -> None:
        """Let the deadline of an awaiting chat lie in the past, for the store and the ledger."""
        ...


class Everything(Protocol):
    async def __call__(self, chat_id: ChatId) -> tuple[list[str], list[str]]:
        """All that users ever said (hidden too, copies not), and all that was queued and never
        promoted, whatever became of it: straight from the rows."""
        ...


class Clear(Protocol):
    async def __call__(self, chat_ids: Sequence[ChatId]) -> None:
        """Remove chats, so that the next example finds none of them."""
        ...


class Keep(Protocol):
    async def __call__(self, chat_id: ChatId) -> Callable[[], Awaitable[None]]:
        """Keep the rows of a chat. What is returned sets the store back to them, as a failover does
        that lost what was committed since."""
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
    add_owner: AddOwner
    pass_deadline: PassDeadline
    disable: Disable
    everything: Everything
    clear: Clear
    keep: Keep
    clock: HandClock
    settings: KnownSettings | None = None
    """Of the process; None: admins forbid nothing here."""
    hints: KeptHints = field(default_factory=KeptHints)
    ids: SeededIds = field(default_factory=SeededIds)

    def __post_init__(self) -> None:
        self.ledger: ChatWriter = dispatch_on(self.store, self.hints, self.clock)

    async def create(self, *messages: MessageBody, owner: UserId = OWNER, org: OrgId = ORG) -> Chat:
        chat = Chat(chat_id=self.ids.new_chat_id(), org_id=org, owner_id=owner)
        return (await self.ledger.create(chat, Create(messages))).chat

    async def do(self, chat_id: ChatId, *commands: Command, key: str | None = None) -> Commit:
        keyed = None if key is None else keyed_by(key, commands)
        return await self.ledger.transact(chat_id, ChangeRequest(commands, by=ACTOR, key=keyed))

    async def drive(self, chat: Chat, *commands: Command) -> Commit:
        """As the runner that holds this snapshot."""
        request = ChangeRequest(commands, by=Fence.of(chat), snapshot=chat)
        return await self.ledger.transact(chat.chat_id, request)

    async def another_owner(self) -> UserId:
        user_id = UserId(self.ids.new_chat_id())
        await self.add_owner(ORG, user_id)
        return user_id

    async def a_worker(self) -> WorkerId:
        worker_id = self.ids.new_worker_id()
        await self.leases.join(worker_id, name="worker", ttl=TTL)
        return worker_id

    async def acquire(self, worker_id: WorkerId, limit: int = 10) -> list[Chat]:
        acquired = await self.leases.acquire(worker_id, limit=limit, ring_start=RING)
        assert not acquired.unreadable
        return list(acquired.chats)

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


def keyed_by(key: str, body: object) -> IdempotencyKey:
    return IdempotencyKey(ClientKey(key), repr(body).encode())


def fake_world() -> World:
    clock = HandClock()
    fake = FakeStore(clock)

    async def lapse(worker_id: WorkerId) -> None:
        fake.lapse(worker_id)

    async def violations(chat_ids: Sequence[ChatId]) -> list[str]:
        return []

    async def add_owner(org_id: OrgId, user_id: UserId) -> None:
        pass

    async def pass_deadline(chat: Chat) -> None:
        assert chat.awaiting is not None
        assert chat.awaiting.deadline is not None
        clock.advance(chat.awaiting.deadline - clock.now())

    async def disable(user_id: UserId) -> None:
        fake.disabled.add(user_id)

    async def keep(chat_id: ChatId) -> Callable[[], Awaitable[None]]:
        records = fake._records  # pyright: ignore[reportPrivateUsage]
        kept = deepcopy(records[chat_id])

        async def set_back() -> None:
            records[chat_id] = deepcopy(kept)

        return set_back

    return World(
        fake,
        fake,
        fake,
        lapse,
        violations,
        add_owner,
        pass_deadline,
        disable,
        fake.everything,
        fake.clear,
        keep,
        clock,
    )


async def _disable(pool: Pool, user_id: UserId) -> None:
    await pool.execute(
        "update users set disabled_at = now(), stopping_since = now() where id = $1", user_id
    )


def postgres_world(pool: Pool) -> World:
    async def lapse(worker_id: WorkerId) -> None:
        await pool.execute(
            "update workers set lease_until = clock_timestamp() - interval '1 s' where id = $1",
            worker_id,
        )

    async def violations(chat_ids: Sequence[ChatId]) -> list[str]:
        return [f"{v.rule} ({v.detail})" for v in await verify(pool, chat_ids)]

    clock = HandClock(datetime.now(UTC))

    async def pass_deadline(chat: Chat) -> None:
        past = clock.now() - timedelta(seconds=1)
        await pool.execute("update chats set awaiting_until = $2 where id = $1", chat.chat_id, past)

    async def everything(chat_id: ChatId) -> tuple[list[str], list[str]]:
        said = await pool.fetch(
            "select parts -> 0 ->> 'text' as text from messages"
            " where chat_id = $1 and role = 'user' and copied_from is null",
            chat_id,
        )
        waiting = await pool.fetch(
            "select parts -> 0 ->> 'text' as text from queued_messages"
            " where chat_id = $1 and fate is distinct from 'promoted'",
            chat_id,
        )
        return [row["text"] for row in said], [row["text"] for row in waiting]

    async def clear(chat_ids: Sequence[ChatId]) -> None:
        await pool.execute("delete from chats where id = any($1::uuid[])", chat_ids)

    async def keep(chat_id: ChatId) -> Callable[[], Awaitable[None]]:
        rows = {name: await pool.fetchval(KEPT.format(name, key), chat_id) for name, key in KEYS}

        async def set_back() -> None:
            await clear([chat_id])
            for name, kept in rows.items():
                await pool.execute(SET_BACK.format(name), kept)

        return set_back

    settings = KnownSettings(pool)
    return World(
        PostgresStore(pool, settings=settings),
        PostgresHistory(pool),
        PostgresLeases(pool),
        lapse,
        violations,
        partial(add_user, pool),
        pass_deadline,
        partial(_disable, pool),
        everything,
        clear,
        keep,
        clock,
        settings,
    )
