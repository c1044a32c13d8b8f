"""Three attacks of `holdfast lab prove`, five times each, and a canary: the chaos of every change.

The seed of the run chooses where they strike. Every attack, in greater numbers and with the times
that are promised, is in `test_prove.py`, which the nightly run makes.
"""

import pytest

from holdfast_lab.chaos.attack import Order
from holdfast_lab.chaos.attacks import ATTACKS
from holdfast_lab.chaos.noticed import mutants
from scripts.gate.canaries import PROOF
from tests.requirements import requirement
from tests.support.tiers import set_seed

STRIKES = 5
STRUCK_MIN = 3
"""Some boundaries lie beyond the end of their turn."""
PATIENCE = 10.0
"""A neighbour may keep both cores busy; `holdfast lab prove` holds the times to their promise."""


def say(said: str) -> None:
    print(said)


@requirement("S3", "S4", "S6", "M1", "D1", "T03", "T04", "T07", "LV1")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["kills", "zombies", "database crashes"])
async def test_attack_breaks_no_promise(name: str) -> None:
    attack = next(each for each in ATTACKS if each.name == name)

    found = await attack.play(Order(STRIKES, set_seed(), say, PATIENCE))

    assert found.violations == []
    assert found.count >= STRUCK_MIN


@requirement("T26")
@pytest.mark.timeout(900)
async def test_attack_notices_that_a_successor_repeats_tools() -> None:
    canary = next(each for each in mutants() if each.name == PROOF)

    assert await canary.notice()
