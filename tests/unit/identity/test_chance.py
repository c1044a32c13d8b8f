"""Chance from the operating system."""

from holdfast.identity.chance import SystemChance
from tests.support.builders import NOW
from tests.support.doubles import HandClock


def test_secrets_are_long_and_identifiers_are_by_time() -> None:
    chance = SystemChance(HandClock(NOW))
    assert len(chance.secret()) == 32
    assert len({chance.secret() for _ in range(100)}) == 100
    new_id = chance.new_id()
    assert new_id.version == 7
    assert new_id.int >> 80 == int(NOW.timestamp() * 1000)
