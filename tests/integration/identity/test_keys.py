"""API keys, and the gate: what is shown, who that is, and how long that holds."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

import pytest

from holdfast.adapters.postgres.credentials import PostgresCredentials
from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.domain.denials import FieldRefused, NotAllowed, NotFound
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ApiKeyId
from holdfast.domain.policy import Credential, OrgRole, Principal, Scope
from holdfast.identity.gate import Gate, GateOptions
from holdfast.identity.keys import ApiKeys
from holdfast.ports.org_settings import Fixed
from tests.requirements import requirement
from tests.support.database import temporary_database
from tests.support.identity import CACHE_NOTHING, ONE_DAY, Realm
from tests.support.wire import tapped

CACHED = GateOptions(cache_s=10.0, recheck_s=10.0)


async def test_a_key_is_shown_once_and_kept_as_a_hash(realm: Realm, admin: Principal) -> None:
    made = await realm.key(admin, Scope.READ)
    assert made.secret.startswith("hfst_")
    assert made.secret not in repr(made)
    assert made.key.prefix == made.secret[:11]
    row = await realm.pool.fetchrow("select * from api_keys")
    assert row is not None
    assert made.secret not in str(dict(row))
    assert len(row["secret_hash"]) == 32
    who = await realm.gate.authenticate(made.secret)
    assert who is not None
    assert (who.user_id, who.org_id, who.role) == (admin.user_id, admin.org_id, OrgRole.ADMIN)
    assert who.scopes == {Scope.READ}
    assert who.credential == Credential("api_key", made.key.key_id)


async def test_what_is_no_key_is_nobody(realm: Realm, admin: Principal) -> None:
    secret = (await realm.key(admin)).secret
    for presented in (
        "",
        "hfst_",
        secret[:-1],
        secret + "0",
        secret.swapcase(),
        "\ud800",
        "x" * 54,
    ):
        assert await realm.gate.authenticate(presented) is None
        assert await realm.gate.authenticate_cookie(presented) is None
    assert realm.gate.counters.lookups == 1, "the admin's cookie: what is no key costs nothing"


async def test_a_key_ends(realm: Realm, admin: Principal) -> None:
    soon = realm.clock.now() + ONE_DAY
    made = await realm.keys.create(admin, name="k", scopes={Scope.READ}, expires_at=soon)
    assert await realm.gate.authenticate(made.secret)
    await realm.pool.execute("update api_keys set expires_at = now() - interval '1 s'")
    assert await realm.gate.authenticate(made.secret) is None
    for wrong in (realm.clock.now(), realm.clock.now() + timedelta(days=5000)):
        with pytest.raises(FieldRefused):
            await realm.keys.create(admin, name="k", scopes={Scope.READ}, expires_at=wrong)
    with pytest.raises(FieldRefused):
        await realm.keys.create(admin, name="k", scopes=set())


async def test_a_key_is_good_for_no_more_than_what_made_it(realm: Realm, admin: Principal) -> None:
    weak = await realm.gate.authenticate((await realm.key(admin, Scope.READ, Scope.WRITE)).secret)
    assert weak is not None
    with pytest.raises(NotAllowed):
        await realm.key(weak, Scope.READ)
    lesser = replace(admin, scopes=frozenset({Scope.ADMIN}))
    with pytest.raises(NotAllowed):
        await realm.key(lesser, Scope.READ)
    await realm.key(lesser, Scope.ADMIN)


async def test_no_key_makes_a_key_whatever_its_scopes(realm: Realm, admin: Principal) -> None:
    strong = await realm.gate.authenticate((await realm.key(admin)).secret)
    assert strong is not None
    assert strong.scopes == set(Scope)
    with pytest.raises(NotAllowed, match="session"):
        await realm.key(strong, Scope.READ)
    assert len(await realm.keys.list(admin)) == 1


async def test_new_key_lives_90_days_or_as_long_as_the_cap(realm: Realm, admin: Principal) -> None:
    now = realm.clock.now()

    async def end_of(days: int, wanted: datetime | Literal["never"] | None) -> datetime | None:
        keys = ApiKeys(realm.credentials, realm.gate, realm.clock, realm.chance, Fixed(days))
        made = await keys.create(admin, name="k", scopes={Scope.READ}, expires_at=wanted)
        return made.key.expires_at

    assert await end_of(365, None) == now + timedelta(days=90)
    assert await end_of(30, None) == now + timedelta(days=30)
    assert await end_of(0, None) == now + timedelta(days=90)
    assert await end_of(365, now + timedelta(days=365)) == now + timedelta(days=365)
    assert await end_of(0, "never") is None
    for days in (7, 365):
        with pytest.raises(FieldRefused, match=f"within {days} days"):
            await end_of(days, "never")
        with pytest.raises(FieldRefused, match=f"within {days} days"):
            await end_of(days, now + timedelta(days=days + 1))


async def test_when_a_key_was_used_is_written_once_a_minute(realm: Realm, admin: Principal) -> None:
    made = await realm.key(admin)
    assert made.key.last_used_at is None
    await realm.gate.authenticate(made.secret)
    (used,) = await realm.keys.list(admin)
    assert used.last_used_at is not None
    await realm.gate.authenticate(made.secret)
    (again,) = await realm.keys.list(admin)
    assert again.last_used_at == used.last_used_at
    await realm.pool.execute("update api_keys set last_used_at = now() - interval '2 min'")
    await realm.gate.authenticate(made.secret)
    (later,) = await realm.keys.list(admin)
    assert later.last_used_at is not None
    assert later.last_used_at > used.last_used_at


@requirement("A1")
async def test_a_key_is_revoked_by_its_owner_or_an_admin_and_nobody_else(
    realm: Realm, admin: Principal
) -> None:
    _, bob = await realm.add(admin, "Bob")
    _, cid = await realm.add(admin, "Cid")
    other = await realm.another_org()
    made = await realm.key(bob)
    unknown = ApiKeyId(realm.chance.new_id())
    for who in (cid, other):
        for target in (made.key.key_id, unknown):
            with pytest.raises(NotFound):
                await realm.keys.revoke(who, target)
        assert await realm.keys.list(who, bob.user_id) == []
    assert [k.key_id for k in await realm.keys.list(bob)] == [made.key.key_id]
    assert [k.key_id for k in await realm.keys.list(admin)] == [made.key.key_id]
    assert await realm.gate.authenticate(made.secret)

    await realm.keys.revoke(admin, made.key.key_id)

    assert await realm.gate.authenticate(made.secret) is None
    assert (await realm.keys.list(bob))[0].revoked_at is not None
    with pytest.raises(NotFound):
        await realm.keys.revoke(bob, made.key.key_id)


async def test_a_disabled_user_gets_no_key(realm: Realm, admin: Principal) -> None:
    user, bob = await realm.add(admin, "Bob")
    await realm.accounts.update(admin, user.user_id, disabled=True)
    with pytest.raises(NotFound):
        await realm.key(bob)


async def test_a_request_costs_one_statement_and_a_cached_one_none(template: str) -> None:
    async with (
        temporary_database(template) as url,
        tapped(url) as tap,
        open_pool(tap.url, PoolOptions(connections_max=2)) as pool,
    ):
        realm = Realm(pool, gating=CACHED)
        admin = await realm.found()
        made, opened = await realm.key(admin), await realm.opened("ada@acme.example")
        before = tap.statements
        assert await realm.gate.authenticate(made.secret)
        assert tap.statements - before == 1
        assert await realm.gate.authenticate_cookie(opened.token)
        assert tap.statements - before == 2
        for _ in range(20):
            assert await realm.gate.authenticate(made.secret)
            assert await realm.gate.authenticate_cookie(opened.token)
        assert tap.statements - before == 2
        # Signing in: the attempt, and the sign-in with its entry in the log.
        await realm.opened("ada@acme.example")
        assert tap.statements - before == 4


async def test_many_open_streams_cost_one_statement_per_interval(
    realm: Realm, admin: Principal
) -> None:
    gate = Gate(realm.credentials, CACHED)
    secrets = [(await realm.key(admin)).secret for _ in range(10)]
    streams = [who for each in secrets if (who := await gate.authenticate(each))]
    assert len(streams) == 10

    async def ask() -> list[bool]:
        return await asyncio.gather(*(gate.still_valid(who) for who in streams * 5))

    assert await ask() == [True] * 50
    first = gate.counters.rechecks
    assert await ask() == [True] * 50
    assert gate.counters.rechecks == first <= 10, "whoever came first was asked about alone"
    for watched in gate._watched.values():  # pyright: ignore[reportPrivateUsage]
        watched.fresh_until = 0.0  # the interval is over
    await realm.pool.execute(
        "update api_keys set revoked_at = now() where id = $1", streams[3].credential.id
    )
    assert await ask() == [number % 10 != 3 for number in range(50)]
    assert gate.counters.rechecks == first + 1


@requirement("L130")
async def test_what_is_revoked_here_is_out_at_once(realm: Realm, admin: Principal) -> None:
    realm = Realm(realm.pool, gating=CACHED, seed=5)
    made = await realm.key(admin)
    who = await realm.gate.authenticate(made.secret)
    assert who is not None
    assert await realm.gate.still_valid(who)
    await realm.keys.revoke(admin, made.key.key_id)
    assert await realm.gate.authenticate(made.secret) is None
    assert not await realm.gate.still_valid(who)


class Slow(PostgresCredentials):
    """Answers, but the answer takes its time on the way."""

    def __init__(self, realm: Realm) -> None:
        super().__init__(realm.pool)
        self.answered = asyncio.Event()
        self.arrives = asyncio.Event()

    async def by_key(self, secret_hash: bytes) -> Principal | None:  # pyright: ignore[reportImplicitOverride]
        found = await super().by_key(secret_hash)
        self.answered.set()
        await self.arrives.wait()
        return found

    async def valid(  # pyright: ignore[reportImplicitOverride]
        self, credentials: Sequence[Credential], *, idle: timedelta
    ) -> Sequence[Principal]:
        found = await super().valid(credentials, idle=idle)
        self.answered.set()
        await self.arrives.wait()
        return found


@requirement("L130")
async def test_a_revocation_beats_an_answer_that_is_on_its_way(
    realm: Realm, admin: Principal
) -> None:
    made = await realm.key(admin)
    who = await realm.gate.authenticate(made.secret)
    assert who is not None
    slow = Slow(realm)
    gate = Gate(slow, CACHED)
    for ask in (gate.authenticate(made.secret), gate.still_valid(who)):
        slow.answered.clear()
        slow.arrives.clear()
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            asking: asyncio.Task[Any] = tasks.create_task(ask)
            await slow.answered.wait()
            await realm.pool.execute("update api_keys set revoked_at = now()")
            gate.forget(credential=who.credential)
            slow.arrives.set()
        if asking.result() is not True and asking.result() is not False:
            assert await gate.authenticate(made.secret) is None, "the old answer was not kept"
            await realm.pool.execute("update api_keys set revoked_at = null")
        else:
            assert asking.result() is False


@requirement("L130")
async def test_whoever_gives_up_waiting_does_not_fail_the_others(
    realm: Realm, admin: Principal
) -> None:
    slow = Slow(realm)
    gate = Gate(slow, CACHED)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        leader = tasks.create_task(gate.still_valid(admin))
        await slow.answered.wait()
        others = [tasks.create_task(gate.still_valid(admin)) for _ in range(5)]
        leader.cancel()
        slow.arrives.set()
    assert [other.result() for other in others] == [True] * 5


class Away(PostgresCredentials):
    async def valid(  # pyright: ignore[reportImplicitOverride]
        self, credentials: Sequence[Credential], *, idle: timedelta
    ) -> Sequence[Principal]:
        raise Unavailable("away")


async def test_a_stream_outlives_a_short_absence_of_the_database_and_no_long_one(
    realm: Realm, admin: Principal
) -> None:
    gate = Gate(Away(realm.pool), CACHE_NOTHING)
    assert await gate.still_valid(admin)
    (watched,) = gate._watched.values()  # pyright: ignore[reportPrivateUsage]
    watched.sure_at -= 25.0
    with pytest.raises(Unavailable):
        await gate.still_valid(admin)


async def test_the_cache_has_an_end(realm: Realm, admin: Principal) -> None:
    gate = Gate(realm.credentials, GateOptions(cached_max=2))
    secrets = [(await realm.key(admin)).secret for _ in range(4)]
    for secret in secrets:
        assert await gate.authenticate(secret)
    assert len(gate._cache) == 2  # pyright: ignore[reportPrivateUsage]
    assert await gate.authenticate(secrets[-1])
    assert gate.counters.hits == 1


def test_the_times_of_the_gate_add_up_to_less_than_promised() -> None:
    with pytest.raises(AssertionError):
        GateOptions(cache_s=20.0, recheck_s=10.0)
    with pytest.raises(AssertionError):
        GateOptions(unsure_max_s=30.0)
