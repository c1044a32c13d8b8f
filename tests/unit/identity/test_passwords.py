"""Passwords: hashed slowly, a bounded number at once."""

import asyncio
import threading

import pytest

from holdfast.domain.denials import PasswordRefused
from holdfast.domain.errors import Unavailable
from holdfast.identity.passwords import PasswordOptions, Passwords
from tests.support.waits import HANG_S

CHEAP = PasswordOptions(time_cost=1, memory_kib=8, parallelism=1, chars_max=64)
PASSWORD = "correct horse battery"


async def test_a_hash_is_argon2id_and_knows_its_password() -> None:
    passwords = Passwords(CHEAP)
    stored = await passwords.hash(PASSWORD)
    assert stored.startswith("$argon2id$")
    assert (await passwords.check(PASSWORD, stored)).right
    assert not (await passwords.check(PASSWORD + "x", stored)).right
    assert await passwords.hash(PASSWORD) != stored, "salted"


async def test_a_letter_may_be_composed_in_two_ways() -> None:
    passwords = Passwords(CHEAP)
    stored = await passwords.hash("Mu\u0308nchen am Abend")
    assert (await passwords.check("M\u00fcnchen am Abend", stored)).right


@pytest.mark.parametrize("stored", [None, "", "plain", "$argon2id$broken", "$2b$12$x"])
async def test_what_is_no_hash_has_no_password(stored: str | None) -> None:
    assert not (await Passwords(CHEAP).check(PASSWORD, stored)).right


@pytest.mark.parametrize("password", ["", "short", "x" * 65])
async def test_too_short_or_too_long_is_refused(password: str) -> None:
    with pytest.raises(PasswordRefused):
        await Passwords(CHEAP).hash(password)


async def test_a_weaker_hash_is_made_anew_and_an_equal_one_is_not() -> None:
    stored = await Passwords(CHEAP).hash(PASSWORD)
    assert (await Passwords(CHEAP).check(PASSWORD, stored)).rehashed is None
    stronger = Passwords(PasswordOptions(time_cost=2, memory_kib=8, parallelism=1))
    checked = await stronger.check(PASSWORD, stored)
    assert checked.rehashed is not None
    assert (await stronger.check(PASSWORD, checked.rehashed)).rehashed is None
    assert (await stronger.check("wrong password", stored)).rehashed is None


async def test_a_storm_waits_in_line_and_not_for_ever() -> None:
    passwords = Passwords(
        PasswordOptions(time_cost=1, memory_kib=8, parallelism=1, at_once_max=1, wait_s=0.05)
    )
    ends = threading.Event()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(passwords._apart(lambda: ends.wait(HANG_S), passwords._room))  # pyright: ignore[reportPrivateUsage]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await passwords.check(PASSWORD, None)
        assert not (await passwords.check(PASSWORD, None, known=True)).right, "has its own place"
        ends.set()
    assert first.result()
    assert not (await passwords.check(PASSWORD, None)).right, "there is room again"
