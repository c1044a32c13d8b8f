"""Accounts: the first admin, users, roles, passwords."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from holdfast.adapters.postgres.audit import audited
from holdfast.domain.accounts import User
from holdfast.domain.denials import (
    EmailTaken,
    FieldRefused,
    LastAdmin,
    NotAllowed,
    NotFound,
    PasswordRefused,
    WrongCredentials,
)
from holdfast.domain.ids import UserId
from holdfast.domain.policy import OrgRole, Principal, Scope
from holdfast.domain.public_ids import USER_ID
from tests.requirements import requirement
from tests.support.identity import HERE, PASSWORD, Realm, principal

NOBODY = UserId(UUID(int=404))


async def test_of_many_that_found_an_empty_server_one_succeeds(realm: Realm) -> None:
    async def found(number: int) -> User | None:
        return await realm.accounts.create_first_admin(
            org_name="Acme", name=f"A{number}", email=f"a{number}@x.example", password=PASSWORD
        )

    made = await asyncio.gather(*(found(number) for number in range(8)))

    (first,) = [user for user in made if user is not None]
    assert first.role is OrgRole.ADMIN
    assert await realm.pool.fetchval("select count(*) from users") == 1
    assert await realm.pool.fetchval("select count(*) from organisations") == 1
    assert await realm.actions(first.org_id) == ["org.founded"]


async def test_who_founds_while_another_is_about_to_waits_and_does_not(realm: Realm) -> None:
    user_id, org_id = realm.chance.new_id(), realm.chance.new_id()
    values: dict[str, object] = {
        "org_id": org_id, "org_name": "First", "user_id": user_id, "name": "A",
        "email": "a@x.example", "role": "admin", "password_hash": None, "audit_org": org_id,
        "audit_at": realm.clock.now(), "audit_actor": user_id, "audit_action": "org.founded",
        "audit_entry": "{}",
    }  # fmt: skip
    query = audited("found_org_begin")
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks, realm.pool.acquire() as first:
        transaction = first.transaction()
        await transaction.start()
        assert await first.fetchrow(query.text, *(values[name] for name in query.names))
        second = tasks.create_task(
            realm.accounts.create_first_admin(
                org_name="Second", name="B", email="b@x.example", password=PASSWORD
            )
        )
        # Until it waits for our transaction to end, or is done without.
        waits = (
            "select count(*) from pg_locks inner join pg_stat_activity using (pid)"
            " where not granted and datname = current_database()"
        )
        while not second.done() and not await first.fetchval(waits):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await transaction.commit()
    assert second.result() is None
    assert await realm.pool.fetchval("select count(*) from users") == 1


async def test_a_server_with_any_user_is_not_founded_again(realm: Realm) -> None:
    await realm.another_org()
    again = await realm.accounts.create_first_admin(
        org_name="Acme", name="Eve", email="eve@x.example", password=PASSWORD
    )
    assert again is None
    assert await realm.pool.fetchval("select count(*) from users") == 1


async def test_an_admin_adds_a_user_who_can_sign_in(realm: Realm, admin: Principal) -> None:
    user, who = await realm.add(admin, "Bob")
    assert (who.user_id, who.org_id, who.role) == (user.user_id, admin.org_id, OrgRole.MEMBER)
    assert who.scopes == frozenset(Scope)
    assert (await realm.accounts.find(admin, user.user_id)) == user
    assert [u.name for u in await realm.accounts.page(who)] == ["Ada", "Bob"]


async def test_a_page_of_users_goes_on_where_the_last_one_ended(
    realm: Realm, admin: Principal
) -> None:
    for name in ("Dan", "Bob", "Cid", "Eve"):
        await realm.accounts.create(admin, name=name, email=f"{name}@acme.example")
    names: list[str] = []
    after: tuple[str, UserId] | None = None
    while page := await realm.accounts.page(admin, limit=2, after=after):
        names += [user.name for user in page]
        after = page[-1].name, page[-1].user_id
    assert names == ["Ada", "Bob", "Cid", "Dan", "Eve"]


async def test_a_search_for_users_finds_all_words_in_name_or_email(
    realm: Realm, admin: Principal
) -> None:
    for name, host in (("Grace Hopper", "navy"), ("Grace Kelly", "film"), ("50%", "film")):
        email = f"{name.split()[0].lower().replace('%', '')}.{host}@{host}.example"
        await realm.accounts.create(admin, name=name, email=email)

    async def found(search: str, **place: Any) -> list[str]:
        return [user.name for user in await realm.accounts.page(admin, search=search, **place)]

    assert await found("GRACE") == ["Grace Hopper", "Grace Kelly"]
    assert await found(" kelly  film ") == ["Grace Kelly"]
    assert await found("hopper film") == []
    assert await found("0%") == ["50%"], "no wildcards"
    assert await found("g%e") == []
    assert await found("nul\x00") == []
    assert await found(" ") == ["50%", "Ada", "Grace Hopper", "Grace Kelly"]
    first = (await realm.accounts.page(admin, search="grace", limit=1))[0]
    assert await found("grace", after=(first.name, first.user_id)) == ["Grace Kelly"]


@pytest.mark.parametrize("email", ["ADA@acme.example", " ada@ACME.example ", "ａda@acme.example"])
async def test_an_address_is_taken_whatever_its_case(
    realm: Realm, admin: Principal, email: str
) -> None:
    before = await realm.actions(admin.org_id)
    with pytest.raises(EmailTaken):
        await realm.accounts.create(admin, name="Ada 2", email=email)
    assert await realm.actions(admin.org_id) == before, "what did not happen is not logged"


async def test_two_organisations_may_know_the_same_address(realm: Realm, admin: Principal) -> None:
    other = await realm.another_org()
    await realm.accounts.create(
        other, name="Ada", email="ada@acme.example", password="another password entirely"
    )
    with pytest.raises(WrongCredentials):  # which of the two?
        await realm.opened("ada@acme.example")
    opened = await realm.login.sign_in(
        "ada@acme.example", "another password entirely", HERE, org_id=other.org_id
    )
    assert opened.user.org_id == other.org_id


@pytest.mark.parametrize(
    "email", ["", "ada", "@acme.example", "ada@", "a b@c.example", "a@b@c", "a\n@b.c", "x" * 300]
)
async def test_what_is_no_address_is_refused(realm: Realm, admin: Principal, email: str) -> None:
    with pytest.raises(FieldRefused):
        await realm.accounts.create(admin, name="X", email=email)


@pytest.mark.parametrize("name", ["", "  ", "a\x00b", "x" * 201, "\ud800"])
async def test_what_is_no_name_is_refused(realm: Realm, admin: Principal, name: str) -> None:
    with pytest.raises(FieldRefused):
        await realm.accounts.create(admin, name=name, email="x@acme.example")


async def test_a_short_password_is_refused(realm: Realm, admin: Principal) -> None:
    with pytest.raises(PasswordRefused):
        await realm.accounts.create(admin, name="X", email="x@acme.example", password="short")


async def test_a_member_administers_nobody(realm: Realm, admin: Principal) -> None:
    user, who = await realm.add(admin, "Bob")
    accounts = realm.accounts
    for refused in (
        accounts.create(who, name="X", email="x@acme.example"),
        accounts.update(who, user.user_id, role=OrgRole.ADMIN),
        accounts.update(who, admin.user_id, disabled=True),
        accounts.update(who, admin.user_id, disabled=False),
        accounts.reset_password(who, admin.user_id, PASSWORD),
    ):
        with pytest.raises(NotAllowed):
            await refused


@requirement("A1")
async def test_users_of_others_answer_like_unknown_ones(realm: Realm, admin: Principal) -> None:
    foreign = (await realm.another_org()).user_id
    accounts = realm.accounts

    async def answers(user_id: UserId) -> list[str]:
        said: list[str] = []
        for ask in (
            accounts.find(admin, user_id),
            accounts.update(admin, user_id, role=OrgRole.MEMBER),
            accounts.update(admin, user_id, disabled=True),
            accounts.update(admin, user_id, disabled=False),
            accounts.reset_password(admin, user_id, PASSWORD),
        ):
            with pytest.raises(NotFound) as refused:
                await ask
            said.append(str(refused.value).replace(USER_ID.encode(user_id), "ID"))
        return said

    assert await answers(foreign) == await answers(NOBODY)
    row = await realm.pool.fetchrow("select * from users where id = $1", foreign)
    assert row is not None
    assert (row["role"], row["disabled_at"], row["password_hash"]) == ("admin", None, None)


async def test_who_is_disabled_is_out_at_once_and_back_when_enabled(
    realm: Realm, admin: Principal
) -> None:
    user, who = await realm.add(admin, "Bob")
    opened = await realm.opened("bob@acme.example")
    made = await realm.key(who)
    assert await realm.gate.still_valid(who)

    assert (await realm.accounts.update(admin, user.user_id, disabled=True)).disabled_at is not None
    assert await realm.gate.authenticate_cookie(opened.token) is None
    assert await realm.gate.authenticate(made.secret) is None
    assert not await realm.gate.still_valid(who)
    with pytest.raises(WrongCredentials):
        await realm.opened("bob@acme.example")

    assert (await realm.accounts.update(admin, user.user_id, disabled=False)).disabled_at is None
    assert await realm.gate.authenticate(made.secret) is None, "it stays revoked"
    assert await realm.gate.authenticate_cookie(opened.token) is None
    await realm.opened("bob@acme.example")


async def test_the_last_admin_stays(realm: Realm, admin: Principal) -> None:
    await realm.add(admin, "Bob")
    with pytest.raises(LastAdmin):
        await realm.accounts.update(admin, admin.user_id, disabled=True)
    with pytest.raises(LastAdmin):
        await realm.accounts.update(admin, admin.user_id, role=OrgRole.MEMBER)
    assert (await realm.accounts.find(admin, admin.user_id)).role is OrgRole.ADMIN


async def test_two_admins_that_demote_each_other_leave_one(realm: Realm, admin: Principal) -> None:
    for number in range(10):
        user, other = await realm.add(admin, f"Bob{number}", OrgRole.ADMIN)
        done = await asyncio.gather(
            realm.accounts.update(admin, user.user_id, role=OrgRole.MEMBER),
            realm.accounts.update(other, admin.user_id, role=OrgRole.MEMBER),
            return_exceptions=True,
        )
        assert sorted(type(each).__name__ for each in done) == ["ChangedUser", "LastAdmin"]
        # Whoever is left makes Ada an admin again, and becomes a member.
        await realm.pool.execute(
            "update users set role = case when id = $1 then 'admin' else 'member' end",
            admin.user_id,
        )


async def test_a_role_that_was_lost_is_lost_at_once(realm: Realm, admin: Principal) -> None:
    user, who = await realm.add(admin, "Bob", OrgRole.ADMIN)
    assert await realm.gate.still_valid(who)
    await realm.accounts.update(admin, user.user_id, role=OrgRole.MEMBER)
    assert not await realm.gate.still_valid(who), "an open stream begins again, as what one is now"


async def test_a_reset_password_ends_every_sign_in(realm: Realm, admin: Principal) -> None:
    user, _ = await realm.add(admin, "Bob")
    opened = await realm.opened("bob@acme.example")
    await realm.accounts.reset_password(admin, user.user_id, "an entirely new password")
    assert await realm.gate.authenticate_cookie(opened.token) is None
    with pytest.raises(WrongCredentials):
        await realm.opened("bob@acme.example")
    await realm.opened("bob@acme.example", "an entirely new password")


async def test_whoever_changes_a_password_stays_signed_in_alone(
    realm: Realm, admin: Principal
) -> None:
    await realm.add(admin, "Bob")
    elsewhere = await realm.opened("bob@acme.example")
    here = await realm.opened("bob@acme.example")
    who = await realm.gate.authenticate_cookie(here.token)
    assert who is not None

    with pytest.raises(WrongCredentials):
        await realm.accounts.change_password(who, current="wrong", new="an entirely new password")
    with pytest.raises(PasswordRefused):
        await realm.accounts.change_password(who, current=PASSWORD, new=PASSWORD)
    with pytest.raises(PasswordRefused):
        await realm.accounts.change_password(who, current=PASSWORD, new="short")
    await realm.accounts.change_password(who, current=PASSWORD, new="an entirely new password")

    assert await realm.gate.authenticate_cookie(here.token) == who
    assert await realm.gate.authenticate_cookie(elsewhere.token) is None
    await realm.opened("bob@acme.example", "an entirely new password")


async def test_reset_by_an_admin_and_disabling_revoke_keys_unless_they_are_kept(
    realm: Realm, admin: Principal
) -> None:
    user, who = await realm.add(admin, "Bob")
    accounts, user_id = realm.accounts, user.user_id

    async def held(*secrets: str) -> list[bool]:
        return [await realm.gate.authenticate(each) is not None for each in secrets]

    kept = (await realm.key(who)).secret
    reset = await accounts.reset_password(admin, user_id, "a new long password", keep_keys=True)
    assert (reset.revoked_keys, await held(kept)) == (0, [True])
    other = (await realm.key(who)).secret
    reset = await accounts.reset_password(admin, user_id, "another long password")
    assert (reset.revoked_keys, await held(kept, other)) == (2, [False, False])

    third = (await realm.key(who)).secret
    disabled = await accounts.update(admin, user_id, disabled=True, keep_keys=True)
    assert (disabled.revoked_keys, await held(third)) == (0, [False])
    assert (await accounts.update(admin, user_id, role=OrgRole.ADMIN)).revoked_keys == 0
    await accounts.update(admin, user_id, disabled=False)
    assert await held(third) == [True], "it was refused, not revoked"
    assert (await accounts.update(admin, user_id, disabled=True)).revoked_keys == 1
    await accounts.update(admin, user_id, disabled=False)
    assert await held(third) == [False]


async def test_own_password_change_keeps_the_keys(realm: Realm, admin: Principal) -> None:
    made = await realm.key(admin)
    await realm.accounts.change_password(admin, current=PASSWORD, new="an entirely new password")
    assert await realm.gate.authenticate(made.secret) is not None


async def test_a_key_changes_no_password(realm: Realm, admin: Principal) -> None:
    made = await realm.key(admin)
    who = await realm.gate.authenticate(made.secret)
    assert who is not None
    with pytest.raises(NotAllowed):
        await realm.accounts.change_password(who, current=PASSWORD, new="an entirely new password")


async def test_a_credential_without_the_scope_may_not(realm: Realm, admin: Principal) -> None:
    weak = principal(
        admin.org_id, admin.user_id, OrgRole.ADMIN, frozenset({Scope.READ, Scope.WRITE})
    )
    with pytest.raises(NotAllowed):
        await realm.accounts.create(weak, name="X", email="x@acme.example")
    assert await realm.accounts.find(weak, admin.user_id)
