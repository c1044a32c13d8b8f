"""A browser that an account knows is not locked out by guesses of strangers; a network is one."""

import asyncio
import threading
from dataclasses import replace

import pytest

from holdfast.domain.denials import Throttled, WrongCredentials
from holdfast.domain.policy import Principal
from holdfast.identity import throttle
from holdfast.identity.passwords import PasswordOptions
from holdfast.identity.sign_in import Visitor
from holdfast.identity.throttle import Throttle, ThrottleOptions
from holdfast.ports.identity import Attempt
from tests.support.identity import HERE, ONE_DAY, PASSWORD, Realm, a_realm
from tests.support.waits import HANG_S

ADA = "ada@acme.example"
FEW = ThrottleOptions(by_account_max=3, by_browser_max=3, by_network_max=6)


async def guesses(realm: Realm, times: int, visitor: Visitor, email: str = ADA) -> list[str]:
    said: list[str] = []
    for number in range(times):
        try:
            await realm.opened(email.format(number), "wrong password", visitor)
        except (WrongCredentials, Throttled) as refused:
            said.append(type(refused).__name__)
    return said


async def test_a_known_browser_is_not_locked_out_by_strangers(template: str) -> None:
    async with a_realm(template, throttling=FEW) as realm:
        await realm.found()
        known = replace(HERE, browser=(await realm.opened(ADA)).browser)
        assert (await guesses(realm, 5, Visitor("198.51.100.1"))).count("Throttled") == 2
        with pytest.raises(Throttled):
            await realm.opened(ADA)
        again = await realm.opened(ADA, visitor=known)

        # The cookie is good once; its successor has a bucket, too.
        with pytest.raises(Throttled):
            await realm.opened(ADA, visitor=known)
        known = replace(HERE, browser=again.browser)
        assert (await guesses(realm, 5, known)).count("Throttled") == 2
        with pytest.raises(Throttled):
            await realm.opened(ADA, visitor=known)


async def test_a_known_browser_is_known_to_those_who_signed_in_there(
    realm: Realm, admin: Principal
) -> None:
    await realm.add(admin, "Bob")
    first = await realm.opened(ADA)
    second = await realm.opened("bob@acme.example", visitor=replace(HERE, browser=first.browser))

    async def is_known(email: str, browser: str | None) -> bool:
        return (await realm.throttle.count(email, None, None, browser)).known

    for email in (ADA, "bob@acme.example"):
        assert await is_known(email, second.browser)
    assert not await is_known(ADA, first.browser), "the cookie was replaced"
    assert not await is_known("cid@acme.example", second.browser)
    assert not await is_known(ADA, "planted by a stranger")
    await realm.pool.execute("update known_browsers set expires_at = clock_timestamp()")
    assert not await is_known(ADA, second.browser)
    await realm.credentials.forget_expired(window=ONE_DAY)
    assert await realm.pool.fetchval("select count(*) from known_browsers") == 0


@pytest.mark.parametrize(
    ("addresses", "throttled"),
    [
        ([f"2001:db8:1:2::{n}" for n in range(9)], 3),
        ([f"2001:db8:1:{n}::1" for n in range(9)], 0),
        (["198.51.100.7", *(f"::ffff:198.51.100.{7}" for _ in range(8))], 3),
    ],
    ids=["one network", "many networks", "one address in two forms"],
)
async def test_a_network_of_ipv6_is_one_client(
    template: str, addresses: list[str], throttled: int
) -> None:
    async with a_realm(template, throttling=FEW) as realm:
        assert await _guessed(realm, addresses) == throttled


async def _guessed(realm: Realm, addresses: list[str]) -> int:
    said = [
        await guesses(realm, 1, Visitor(address), f"user{number}@acme.example")
        for number, address in enumerate(addresses)
    ]
    return said.count(["Throttled"])


async def test_a_throttle_by_whole_address_is_noticed(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(address: str | None) -> str | None:
        return address

    monkeypatch.setattr(throttle, "network_of", whole)
    async with a_realm(template, throttling=FEW) as realm:
        assert await _guessed(realm, [f"2001:db8:1:2::{n}" for n in range(9)]) == 0


async def test_a_throttle_that_knows_no_browser_is_noticed(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = Throttle.count

    async def of_strangers(
        self: Throttle, email: str, org_id: None, address: str | None, browser: str | None = None
    ) -> Attempt:
        return await count(self, email, org_id, address)

    monkeypatch.setattr(Throttle, "count", of_strangers)
    async with a_realm(template, throttling=FEW) as realm:
        await realm.found()
        known = replace(HERE, browser=(await realm.opened(ADA)).browser)
        await guesses(realm, 5, Visitor("198.51.100.1"))
        with pytest.raises(Throttled):
            await realm.opened(ADA, visitor=known)


async def _waits_for_strangers(realm: Realm, *, apart: bool) -> bool:
    """Whether a known browser waits while strangers keep every place of theirs busy."""
    known = replace(HERE, browser=(await realm.opened(ADA)).browser)
    ends = threading.Event()
    passwords = realm.passwords
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(passwords._apart(lambda: ends.wait(HANG_S), passwords._room))  # pyright: ignore[reportPrivateUsage]
        await asyncio.sleep(0)
        signing_in = tasks.create_task(realm.opened(ADA, PASSWORD, known))
        try:
            async with asyncio.timeout(HANG_S if apart else 1):
                await asyncio.shield(signing_in)
        except TimeoutError:
            return True
        finally:
            ends.set()
    return False


ONE_PLACE = PasswordOptions(time_cost=1, memory_kib=8, parallelism=1, at_once_max=1, wait_s=HANG_S)


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "mutant: one queue"])
async def test_a_known_browser_does_not_wait_behind_strangers(
    template: str,
    apart: bool,
) -> None:
    async with a_realm(template, password_options=ONE_PLACE) as realm:
        await realm.found()
        if not apart:
            realm.passwords._known_room = realm.passwords._room  # pyright: ignore[reportPrivateUsage]
        assert await _waits_for_strangers(realm, apart=apart) == (not apart)
