"""Identity on a real database, put together as the composition root will."""

import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from holdfast.adapters.postgres.audit import PostgresAuditLog
from holdfast.adapters.postgres.credentials import PostgresCredentials
from holdfast.adapters.postgres.listing import PostgresListing
from holdfast.adapters.postgres.oidc import PostgresOidcLinks
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.adapters.postgres.users import PostgresUsers
from holdfast.chats.ledger import Ledger
from holdfast.domain.accounts import User
from holdfast.domain.chat import Chat
from holdfast.domain.commands import Create
from holdfast.domain.ids import RANDOM_BITS, ChatId, OrgId, SignInId, UserId, uuid7
from holdfast.domain.messages import MessageBody
from holdfast.domain.policy import EVERY_SCOPE, Credential, OrgRole, Principal, Scope
from holdfast.identity.accounts import Accounts
from holdfast.identity.gate import Gate, GateOptions
from holdfast.identity.keys import ApiKeys, CreatedApiKey
from holdfast.identity.passwords import PasswordOptions, Passwords
from holdfast.identity.sign_in import OpenedSignIn, PasswordLogin, SignInOptions, SignIns, Visitor
from holdfast.identity.throttle import Throttle, ThrottleOptions
from holdfast_lab.chaos.harness.client import PASSWORD as PASSWORD
from tests.support.database import cloned_pool
from tests.support.doubles import HandClock, KeptHints
from tests.support.passwords import CHEAP

HERE = Visitor("203.0.113.7", "a browser")
CACHE_NOTHING = GateOptions(cache_s=0.0, recheck_s=0.0)


class SeededChance:
    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._ms = 1_700_000_000_000

    def secret(self) -> bytes:
        return self._random.randbytes(32)

    def new_id(self) -> UUID:
        self._ms += 1
        return uuid7(self._ms, self._random.getrandbits(RANDOM_BITS))


@dataclass
class Realm:
    """One server's identity, with an admin in an organisation of its own."""

    pool: Pool
    throttling: ThrottleOptions = field(default_factory=ThrottleOptions)
    gating: GateOptions = CACHE_NOTHING
    password_options: PasswordOptions = CHEAP
    seed: int = 0

    def __post_init__(self) -> None:
        self.clock = HandClock(datetime.now(UTC))
        self.chance = SeededChance(self.seed)
        self.users = PostgresUsers(self.pool)
        self.credentials = PostgresCredentials(self.pool)
        self.log = PostgresAuditLog(self.pool)
        self.links = PostgresOidcLinks(self.pool)
        self.listing = PostgresListing(self.pool)
        self.passwords = Passwords(self.password_options)
        self.throttle = Throttle(self.credentials, self.throttling)
        self.gate = Gate(self.credentials, self.gating)
        self.accounts = Accounts(
            self.users, self.passwords, self.throttle, self.gate, self.clock, self.chance
        )
        self.sign_ins = SignIns(
            self.credentials,
            self.log,
            self.gate,
            self.clock,
            self.chance,
            SignInOptions(failure_s=0.0),
        )
        self.login = PasswordLogin(self.sign_ins, self.passwords, self.throttle)
        self.keys = ApiKeys(self.credentials, self.gate, self.clock, self.chance)
        self.hints = KeptHints()
        self.ledger = Ledger(PostgresStore(self.pool), self.hints, self.clock)

    async def found(self) -> Principal:
        """The first admin, signed in."""
        user = await self.accounts.create_first_admin(
            org_name="Acme", name="Ada", email="ada@acme.example", password=PASSWORD
        )
        assert user is not None
        return await self.signed_in("ada@acme.example")

    async def another_org(self, name: str = "Other") -> Principal:
        """Its admin; in a database, several organisations may live side by side."""
        org_id, user_id = OrgId(self.chance.new_id()), UserId(self.chance.new_id())
        await self.pool.execute(
            "insert into organisations (id, name) values ($1, $2)", org_id, name
        )
        await self.pool.execute(
            "insert into users (id, org_id, name, email, role) values ($1, $2, $3, $4, 'admin')",
            user_id,
            org_id,
            name,
            f"admin@{name.lower()}.example",
        )
        return principal(org_id, user_id, OrgRole.ADMIN)

    async def add(
        self, admin: Principal, name: str, role: OrgRole = OrgRole.MEMBER
    ) -> tuple[User, Principal]:
        """A user, signed in."""
        email = f"{name.lower()}@acme.example"
        user, _ = await self.accounts.create(
            admin, name=name, email=email, role=role, password=PASSWORD
        )
        return user, await self.signed_in(email)

    async def opened(
        self, email: str, password: str = PASSWORD, visitor: Visitor = HERE
    ) -> OpenedSignIn:
        return await self.login.sign_in(email, password, visitor)

    async def signed_in(self, email: str) -> Principal:
        who = await self.gate.authenticate_cookie((await self.opened(email)).token)
        assert who is not None
        return who

    async def key(self, who: Principal, *scopes: Scope) -> CreatedApiKey:
        return await self.keys.create(who, name="a key", scopes=frozenset(scopes or Scope))

    async def chat(self, who: Principal, *messages: MessageBody) -> ChatId:
        chat = Chat(chat_id=ChatId(self.chance.new_id()), org_id=who.org_id, owner_id=who.user_id)
        return (await self.ledger.create(chat, Create(messages))).chat.chat_id

    async def actions(self, org_id: OrgId) -> list[str]:
        """What the audit log says was done, oldest first."""
        return [row.action for row in await self.log.rows(org_id, after_seq=0, limit=10_000)]


def principal(
    org_id: OrgId,
    user_id: UserId,
    role: OrgRole = OrgRole.MEMBER,
    scopes: frozenset[Scope] = EVERY_SCOPE,
) -> Principal:
    return Principal(
        org_id=org_id,
        user_id=user_id,
        role=role,
        scopes=scopes,
        credential=Credential("session", SignInId(UUID(int=9))),
    )


@asynccontextmanager
async def a_realm(template: str, **options: object) -> AsyncGenerator[Realm]:
    async with cloned_pool(template, connections_max=8) as pool:
        yield Realm(pool, **options)  # pyright: ignore[reportArgumentType]


ONE_DAY = timedelta(days=1)
