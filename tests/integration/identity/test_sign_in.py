"""Signing in and out: throttles, rotation, expiry, revocation."""

import asyncio
from dataclasses import replace

import pytest

from holdfast.domain.denials import NotAllowed, NotFound, Throttled, WrongCredentials
from holdfast.domain.ids import SignInId
from holdfast.domain.policy import Principal
from holdfast.identity.passwords import PasswordOptions
from holdfast.identity.sign_in import PasswordLogin, SignInOptions, SignIns, Visitor
from holdfast.identity.throttle import ThrottleOptions
from tests.requirements import requirement
from tests.support.identity import HERE, ONE_DAY, PASSWORD, Realm, a_realm

ADA = "ada@acme.example"


async def test_a_sign_in_gives_a_token_that_is_not_kept(realm: Realm, admin: Principal) -> None:
    opened = await realm.opened("  ADA@Acme.Example ")
    assert len(opened.token) == 43
    assert opened.token not in repr(opened)
    row = await realm.pool.fetchrow("select * from sign_ins where id = $1", opened.sign_in_id)
    assert row is not None
    assert opened.token not in str(dict(row))
    who = await realm.gate.authenticate_cookie(opened.token)
    assert who is not None
    assert (who.user_id, who.credential.id) == (admin.user_id, opened.sign_in_id)


async def test_whatever_is_wrong_is_said_in_the_same_words(realm: Realm, admin: Principal) -> None:
    user, _ = await realm.add(admin, "Bob")
    await realm.accounts.update(admin, user.user_id, disabled=True)
    await realm.accounts.create(admin, name="Cid", email="cid@acme.example")
    said: set[str] = set()
    for email, password in (
        (ADA, "wrong"),
        ("nobody@acme.example", PASSWORD),
        ("bob@acme.example", PASSWORD),  # disabled
        ("cid@acme.example", PASSWORD),  # has no password
        ("not an address", PASSWORD),
        (ADA, ""),
        (ADA, "\ud800"),
        (ADA, PASSWORD + "x" * 10_000),
    ):
        with pytest.raises(WrongCredentials) as refused:
            await realm.opened(email, password)
        said.add(str(refused.value))
    assert len(said) == 1
    assert (await realm.actions(admin.org_id)).count("session.failed") == 6


async def test_an_unknown_account_costs_a_hash_like_a_known_one(
    realm: Realm, admin: Principal
) -> None:
    hashes: list[str | None] = []
    check = realm.passwords.check

    async def counted(password: str, stored: str | None, *, known: bool) -> object:
        hashes.append(stored)
        return await check(password, stored, known=known)

    realm.passwords.check = counted  # pyright: ignore[reportAttributeAccessIssue]
    for email in (ADA, "nobody@acme.example", "?"):
        with pytest.raises(WrongCredentials):
            await realm.opened(email, "wrong password")
    assert [stored is None for stored in hashes] == [False, True, True]
    assert not (await check("nobody has this password", None)).right, "not even with that one"


async def test_no_refusal_comes_sooner_than_the_others(realm: Realm, admin: Principal) -> None:
    slow = SignIns(
        realm.credentials,
        realm.log,
        realm.gate,
        realm.clock,
        realm.chance,
        SignInOptions(failure_s=0.3),
    )
    login = PasswordLogin(slow, realm.passwords, realm.throttle)
    for email in (ADA, "nobody@acme.example"):
        started = asyncio.get_running_loop().time()
        with pytest.raises(WrongCredentials):
            await login.sign_in(email, "wrong password", HERE)
        assert asyncio.get_running_loop().time() - started >= 0.29


@pytest.mark.parametrize("email", [ADA, "nobody@acme.example"])
async def test_an_account_admits_few_guesses_also_at_once(
    realm: Realm, admin: Principal, email: str
) -> None:
    await realm.pool.execute("delete from login_throttles")

    async def guess(number: int) -> str:
        try:
            await realm.opened(email, "wrong password", Visitor(f"198.51.100.{number}"))
        except (WrongCredentials, Throttled) as refused:
            return type(refused).__name__
        return "in"

    said = await asyncio.gather(*(guess(number) for number in range(30)))

    assert said.count("WrongCredentials") == realm.throttling.by_account_max
    assert said.count("Throttled") == 30 - realm.throttling.by_account_max
    with pytest.raises(Throttled) as refused:
        await realm.opened(email, PASSWORD)
    assert 0 < (refused.value.retry_after_s or 0) <= realm.throttling.window.total_seconds()
    await realm.pool.execute("update login_throttles set since = since - interval '1 hour'")
    if email == ADA:
        await realm.opened(email, PASSWORD)
        attempts = await realm.pool.fetchval("select min(attempts) from login_throttles")
        assert attempts == 0, "who is let in begins anew"


async def test_an_address_admits_more_but_not_all(template: str) -> None:
    options = ThrottleOptions(by_account_max=3, by_network_max=6)
    async with a_realm(template, throttling=options) as realm:
        await realm.found()
        for number in range(6):
            with pytest.raises(WrongCredentials):
                await realm.opened(f"nobody{number}@acme.example", "wrong password")
        with pytest.raises(Throttled):
            await realm.opened(ADA)
        await realm.opened(ADA, visitor=Visitor("198.51.100.1"))
        assert await realm.credentials.forget_expired(window=ONE_DAY * 0) > 0


async def test_signing_in_again_ends_what_the_browser_had(realm: Realm, admin: Principal) -> None:
    first = await realm.opened(ADA)
    other = await realm.opened(ADA)
    second = await realm.opened(ADA, visitor=replace(HERE, token=first.token))
    assert second.token != first.token
    assert await realm.gate.authenticate_cookie(first.token) is None
    assert await realm.gate.authenticate_cookie(second.token) is not None
    assert await realm.gate.authenticate_cookie(other.token) is not None, "of another browser"
    await realm.opened(ADA, visitor=replace(HERE, token="planted by somebody"))


async def test_a_sign_in_ends_by_itself(realm: Realm, admin: Principal) -> None:
    execute = realm.pool.execute
    idle, old, used = [await realm.opened(ADA) for _ in range(3)]
    await execute(
        "update sign_ins set seen_at = now() - interval '8 days' where id = $1", idle.sign_in_id
    )
    await execute("update sign_ins set expires_at = now() where id = $1", old.sign_in_id)
    await execute(
        "update sign_ins set seen_at = now() - interval '6 days' where id = $1", used.sign_in_id
    )
    assert await realm.gate.authenticate_cookie(idle.token) is None
    assert await realm.gate.authenticate_cookie(old.token) is None
    assert await realm.gate.authenticate_cookie(used.token) is not None
    seen = await realm.pool.fetchval(
        "select seen_at > now() - interval '1 minute' from sign_ins where id = $1",
        used.sign_in_id,
    )
    assert seen, "to be seen keeps it alive"


async def test_to_be_seen_is_written_once_a_minute(realm: Realm, admin: Principal) -> None:
    opened = await realm.opened(ADA)
    version = "select xmin::text || ctid::text from sign_ins where id = $1"
    before = await realm.pool.fetchval(version, opened.sign_in_id)
    for _ in range(5):
        assert await realm.gate.authenticate_cookie(opened.token)
    assert await realm.pool.fetchval(version, opened.sign_in_id) == before


async def test_signing_out_and_revoking_end_a_sign_in(realm: Realm, admin: Principal) -> None:
    _, bob = await realm.add(admin, "Bob")
    here, there = await realm.opened("bob@acme.example"), await realm.opened("bob@acme.example")
    who = await realm.gate.authenticate_cookie(here.token)
    assert who is not None
    assert {each.sign_in_id for each in await realm.sign_ins.list(who)} == {
        bob.credential.id,
        here.sign_in_id,
        there.sign_in_id,
    }
    await realm.sign_ins.close(who)
    await realm.sign_ins.close(who)  # twice is once
    assert await realm.gate.authenticate_cookie(here.token) is None
    await realm.sign_ins.revoke(bob, there.sign_in_id)
    assert await realm.gate.authenticate_cookie(there.token) is None
    assert [each.sign_in_id for each in await realm.sign_ins.list(bob)] == [bob.credential.id]

    assert len(await realm.sign_ins.list(admin, bob.user_id)) == 1
    await realm.sign_ins.revoke(admin, SignInId(bob.credential.id))
    actions = await realm.actions(admin.org_id)
    assert actions.count("session.closed") == 1
    assert actions.count("session.revoked") == 2


@requirement("A1")
async def test_sign_ins_of_others_answer_like_unknown_ones(realm: Realm, admin: Principal) -> None:
    _, bob = await realm.add(admin, "Bob")
    other = await realm.another_org()
    unknown = SignInId(realm.chance.new_id())
    for who in (bob, other):
        for target in (SignInId(admin.credential.id), unknown):
            with pytest.raises(NotFound):
                await realm.sign_ins.revoke(who, target)
        assert await realm.sign_ins.list(who, admin.user_id) == []
    assert await realm.gate.still_valid(admin)


async def test_a_key_neither_signs_out_nor_stays_hidden(realm: Realm, admin: Principal) -> None:
    key = await realm.gate.authenticate((await realm.key(admin)).secret)
    assert key is not None
    with pytest.raises(NotAllowed):
        await realm.sign_ins.close(key)


async def test_a_hash_made_weaker_once_is_made_anew(template: str) -> None:
    async with a_realm(template) as realm:
        await realm.found()
        weak = await realm.pool.fetchval("select password_hash from users")
        stronger = PasswordOptions(time_cost=2, memory_kib=16, parallelism=1)
        today = Realm(realm.pool, password_options=stronger, seed=7)
        await today.opened(ADA)
        strong = await realm.pool.fetchval("select password_hash from users")
        assert ("t=1" in weak, "t=2" in strong) == (True, True)
        await today.opened(ADA)
        assert await realm.pool.fetchval("select password_hash from users") == strong


async def test_a_password_that_changed_while_it_was_checked_lets_nobody_in(
    realm: Realm, admin: Principal
) -> None:
    check = realm.passwords.check

    async def meanwhile(password: str, stored: str | None, *, known: bool) -> object:
        checked = await check(password, stored, known=known)
        await realm.pool.execute("update users set password_hash = 'another'")
        return checked

    realm.passwords.check = meanwhile  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(WrongCredentials):
        await realm.opened(ADA)
