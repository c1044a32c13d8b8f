"""The policy in SQL lets through exactly the rows that the policy in Python allows."""

import asyncio
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from holdfast.adapters.postgres.listing import PostgresListing
from holdfast.adapters.postgres.policy import BLOCKS, BRANCHES, actor_parameters
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.store import fetch_rows
from holdfast.adapters.statements import Query
from holdfast.domain.denials import NotAllowed
from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.policy import (
    EVERY_SCOPE,
    POLICY,
    AccessRule,
    Action,
    Condition,
    OrgRole,
    Principal,
    Resource,
    Scope,
    TargetKind,
    allows,
    rule_for,
)
from holdfast.ports.listing import ListFilter
from tests.requirements import requirement
from tests.support.database import cloned_pool
from tests.support.identity import principal

ROWS: dict[TargetKind, str] = {
    TargetKind.CHAT: "select c.id from chats as c where c.org_id = :org_id",
    TargetKind.USER: "select u.id from users as u where u.org_id = :org_id",
    TargetKind.API_KEY: "select k.id from api_keys as k where k.org_id = :org_id",
    TargetKind.SIGN_IN: "select s.id from sign_ins as s inner join users as u on u.id = s.user_id"
    " where u.org_id = :org_id",
    TargetKind.AUDIT: "select l.org_id as id from audit_heads as l where l.org_id = :org_id",
    TargetKind.SETTINGS: "select o.org_id as id from org_settings as o where o.org_id = :org_id",
}
ORGS, USERS, CHATS = 3, 8, 48
CASES_MIN = 10_000  # per example


@dataclass
class Population:
    """Everybody and everything, as rows and as what the policy looks at."""

    people: list[Principal]
    resources: dict[TargetKind, dict[UUID, Resource]]


def populate(random: Random, admins: float, shared: float) -> Population:
    """People of all kinds; chats, keys and sign-ins of theirs; shares between some of them."""
    new = lambda: UUID(int=random.getrandbits(128))  # noqa: E731
    orgs = [OrgId(new()) for _ in range(ORGS)]
    people = [
        principal(
            org,
            UserId(new()),
            OrgRole.ADMIN if random.random() < admins else OrgRole.MEMBER,
            frozenset(scope for scope in Scope if random.random() < 0.8) or EVERY_SCOPE,
        )
        for org in orgs
        for _ in range(USERS)
    ]

    def owned(kind: TargetKind, number: int) -> dict[UUID, Resource]:
        owners = [random.choice(people) for _ in range(number)]
        return {
            new(): Resource(kind=kind, org_id=owner.org_id, owner_id=owner.user_id)
            for owner in owners
        }

    chats = {
        chat_id: Resource(
            kind=TargetKind.CHAT,
            org_id=chat.org_id,
            owner_id=chat.owner_id,
            shared_with=frozenset(
                who.user_id
                for who in people
                if who.org_id == chat.org_id
                and who.user_id != chat.owner_id
                and random.random() < shared
            ),
        )
        for chat_id, chat in owned(TargetKind.CHAT, CHATS).items()
    }
    users: dict[UUID, Resource] = {
        who.user_id: Resource(kind=TargetKind.USER, org_id=who.org_id, owner_id=who.user_id)
        for who in people
    }
    return Population(
        people,
        {
            TargetKind.CHAT: chats,
            TargetKind.USER: users,
            TargetKind.API_KEY: owned(TargetKind.API_KEY, 24),
            TargetKind.SIGN_IN: owned(TargetKind.SIGN_IN, 24),
            TargetKind.AUDIT: dict[UUID, Resource](
                {org: Resource(kind=TargetKind.AUDIT, org_id=org) for org in orgs}
            ),
            TargetKind.SETTINGS: dict[UUID, Resource](
                {org: Resource(kind=TargetKind.SETTINGS, org_id=org) for org in orgs}
            ),
        },
    )


async def write(pool: Pool, all_of: Population) -> None:
    rows = all_of.resources
    many = pool.executemany
    orgs = [(org,) for org in rows[TargetKind.AUDIT]]
    await many("insert into organisations (id, name) values ($1, 'org')", orgs)
    await many("insert into audit_heads (org_id, seq, hash) values ($1, 0, '')", orgs)
    await many("insert into org_settings (org_id, version, said) values ($1, 1, '{}')", orgs)
    await many(
        "insert into users (id, org_id, name, role) values ($1, $2, 'user', $3)",
        [(who.user_id, who.org_id, who.role.value) for who in all_of.people],
    )
    await many(
        "insert into chats (id, org_id, owner_id, status, version, history_version, queue_version,"
        " last_seq, last_queued_id, queue_length, owes_reply, compactable, compaction_requested,"
        " open_calls, epoch, attempt, attempts_forgiven)"
        " values ($1, $2, $3, 'idle', 1, 0, 0, 0, 0, 0, false, false, false, '[]', 0, 0, 0)",
        [(chat_id, chat.org_id, chat.owner_id) for chat_id, chat in rows[TargetKind.CHAT].items()],
    )
    await many(
        "insert into chat_shares (chat_id, user_id, org_id, shared_by) values ($1, $2, $3, $4)",
        [
            (chat_id, user_id, chat.org_id, chat.owner_id)
            for chat_id, chat in rows[TargetKind.CHAT].items()
            for user_id in chat.shared_with
        ],
    )
    await many(
        "insert into api_keys (id, org_id, user_id, name, prefix, secret_hash, scopes)"
        " values ($1, $2, $3, '', '', sha256($1::uuid::text::bytea), '{read}')",
        [(key_id, key.org_id, key.owner_id) for key_id, key in rows[TargetKind.API_KEY].items()],
    )
    await many(
        "insert into sign_ins (id, user_id, token_hash, method, expires_at)"
        " values ($1, $2, sha256($1::uuid::text::bytea), 'password', now() + interval '1 day')",
        [(sign_in_id, s.owner_id) for sign_in_id, s in rows[TargetKind.SIGN_IN].items()],
    )


def query_of(kind: TargetKind, rule: AccessRule) -> Query:
    conditions = [BLOCKS[kind, condition] for condition in rule.any_of]
    allowed = load_query("allow_open", *conditions, "allow_close").source
    return Query.compile(f"{ROWS[kind]}\n{allowed}")  # pyright: ignore[reportArgumentType]


async def by_sql(pool: Pool, who: Principal, action: Action, kind: TargetKind) -> set[UUID]:
    try:
        may = rule_for(who, action, kind)
    except NotAllowed:
        return set()
    rows = await fetch_rows(pool, query_of(kind, may[1]), **actor_parameters(may))
    return {row["id"] for row in rows}


async def listed_by_sql(pool: Pool, who: Principal, action: Action) -> set[UUID]:
    try:
        may = rule_for(who, action, TargetKind.CHAT)
    except NotAllowed:
        return set()
    entries = await PostgresListing(pool).page(may, ListFilter(archived=None), limit=10_000)
    assert len({entry.chat_id for entry in entries}) == len(entries)
    return {entry.chat_id for entry in entries}


async def compare(template: str, all_of: Population) -> int:
    """Compare every pair; the number of pairs."""
    cases = 0
    async with cloned_pool(template, connections_max=2) as pool:
        await write(pool, all_of)
        for who, (action, kind) in product(all_of.people, POLICY):
            resources = all_of.resources[kind]
            allowed = {r for r, resource in resources.items() if allows(who, action, resource)}
            assert await by_sql(pool, who, action, kind) == allowed, (who, action, kind)
            cases += len(resources)
            if kind is TargetKind.CHAT and action in {Action.READ, Action.OVERSEE}:
                assert await listed_by_sql(pool, who, action) == allowed, (who, action)
    return cases


@requirement("A1", "L128")
@settings(
    max_examples=4,
    phases=[Phase.generate],  # the seed says it all: nothing to shrink
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    seed=st.integers(0, 2**32),
    admins=st.sampled_from([0.1, 0.5]),
    shared=st.sampled_from([0.05, 0.3]),
)
def test_rows_by_the_filter_are_the_rows_by_the_check(
    template: str, seed: int, admins: float, shared: float
) -> None:
    cases = asyncio.run(compare(template, populate(Random(seed), admins, shared)))
    assert cases >= CASES_MIN


async def test_a_filter_that_forgets_the_organisation_is_seen(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        ROWS, TargetKind.CHAT, "select c.id from chats as c where :org_id::uuid = :org_id"
    )
    with pytest.raises(AssertionError):
        await compare(template, populate(Random(1), 0.5, 0.3))


@pytest.mark.parametrize("condition", [Condition.OWNER, Condition.SHARED])
async def test_a_filter_with_another_condition_is_seen(
    template: str, monkeypatch: pytest.MonkeyPatch, condition: Condition
) -> None:
    blocks: Any = BLOCKS
    monkeypatch.setitem(blocks, (TargetKind.CHAT, condition), "allow_user_same_org")
    with pytest.raises(AssertionError):
        await compare(template, populate(Random(1), 0.5, 0.3))


def test_every_condition_of_every_rule_has_its_block() -> None:
    needed = {(kind, condition) for (_, kind), rule in POLICY.items() for condition in rule.any_of}
    assert needed == set(BLOCKS)
    listable = {c for (_, k), r in POLICY.items() if k is TargetKind.CHAT for c in r.any_of}
    assert listable == set(BRANCHES)


@requirement("L128")
def test_only_the_owner_makes_a_model_run() -> None:
    org, owner, other = OrgId(UUID(int=1)), UserId(UUID(int=2)), UserId(UUID(int=3))
    chat = Resource(
        kind=TargetKind.CHAT, org_id=org, owner_id=owner, shared_with=frozenset({other})
    )
    assert allows(principal(org, owner), Action.DRIVE, chat)
    for role in OrgRole:
        assert not allows(principal(org, other, role), Action.DRIVE, chat)
    assert allows(principal(org, other), Action.READ, chat)
    assert not allows(principal(OrgId(UUID(int=4)), owner), Action.READ, chat)
    read_only = principal(org, owner, scopes=frozenset({Scope.READ}))
    assert not allows(read_only, Action.DRIVE, chat)
    assert not allows(principal(org, owner), Action.ADMINISTER, chat), "no rule, no right"


def test_what_can_hold_for_nothing_is_refused_before_anything_is_looked_up() -> None:
    org, user = OrgId(UUID(int=1)), UserId(UUID(int=2))
    member = principal(org, user)
    for action, kind in (
        (Action.READ, TargetKind.AUDIT),
        (Action.OVERSEE, TargetKind.CHAT),
        (Action.ADMINISTER, TargetKind.CHAT),
    ):
        with pytest.raises(NotAllowed):
            rule_for(member, action, kind)
    with pytest.raises(NotAllowed):
        rule_for(
            principal(org, user, scopes=frozenset({Scope.READ})), Action.DRIVE, TargetKind.CHAT
        )
    assert rule_for(member, Action.READ, TargetKind.CHAT)[0] is member
