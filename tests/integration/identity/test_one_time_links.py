"""The one-time link of `holdfast dev`: once, for a while, from this machine."""

import asyncio
from dataclasses import replace

import pytest

from holdfast.domain.denials import LinkNotValid
from holdfast.domain.policy import Principal
from holdfast.identity.one_time_links import LIFETIME, LINKS_MAX, OneTimeLinks
from holdfast.identity.sign_in import OpenedSignIn, Visitor
from tests.support.identity import HERE, Realm

LOCAL = Visitor("127.0.0.1", "a browser")


@pytest.fixture
def links(realm: Realm) -> OneTimeLinks:
    return OneTimeLinks(realm.sign_ins, realm.clock, realm.chance)


async def issued(realm: Realm, links: OneTimeLinks, admin: Principal) -> str:
    return links.issue(await realm.accounts.find(admin, admin.user_id))


async def test_a_link_signs_in_once(realm: Realm, links: OneTimeLinks, admin: Principal) -> None:
    token = await issued(realm, links, admin)
    opened = await links.sign_in(token, LOCAL)
    who = await realm.gate.authenticate_cookie(opened.token)
    assert who is not None
    assert who.user_id == admin.user_id
    assert opened.token != token
    with pytest.raises(LinkNotValid):
        await links.sign_in(token, LOCAL)
    method = "select method from sign_ins where id = $1"
    assert await realm.pool.fetchval(method, opened.sign_in_id) == "link"


async def test_of_many_at_once_one_is_signed_in(
    realm: Realm, links: OneTimeLinks, admin: Principal
) -> None:
    token = await issued(realm, links, admin)
    tries = [links.sign_in(token, LOCAL) for _ in range(20)]
    ends = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(end, OpenedSignIn) for end in ends) == 1
    assert sum(isinstance(end, LinkNotValid) for end in ends) == 19


async def test_a_link_ends_with_its_time(
    realm: Realm, links: OneTimeLinks, admin: Principal
) -> None:
    token = await issued(realm, links, admin)
    realm.clock.advance(LIFETIME)
    with pytest.raises(LinkNotValid):
        await links.sign_in(token, LOCAL)


@pytest.mark.parametrize("address", [HERE.address, None, "no address", "::ffff:203.0.113.7"])
async def test_another_machine_cannot_use_it_and_does_not_spend_it(
    realm: Realm, links: OneTimeLinks, admin: Principal, address: str | None
) -> None:
    token = await issued(realm, links, admin)
    with pytest.raises(LinkNotValid):
        await links.sign_in(token, replace(LOCAL, address=address))
    assert await links.sign_in(token, replace(LOCAL, address="::ffff:127.0.0.1"))


async def test_another_process_and_a_closed_account_refuse_it(
    realm: Realm, links: OneTimeLinks, admin: Principal
) -> None:
    bob, _ = await realm.add(admin, "Bob")
    token = links.issue(bob)
    with pytest.raises(LinkNotValid):
        await OneTimeLinks(realm.sign_ins, realm.clock, realm.chance).sign_in(token, LOCAL)
    await realm.accounts.update(admin, bob.user_id, disabled=True)
    with pytest.raises(LinkNotValid):
        await links.sign_in(token, LOCAL)


async def test_there_are_few_links_at_once(
    realm: Realm, links: OneTimeLinks, admin: Principal
) -> None:
    first, *others = [await issued(realm, links, admin) for _ in range(LINKS_MAX + 1)]
    with pytest.raises(LinkNotValid):
        await links.sign_in(first, LOCAL)
    for token in others:
        assert await links.sign_in(token, LOCAL)
