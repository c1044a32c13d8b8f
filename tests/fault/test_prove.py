"""What `holdfast prove --quick` does, attack by attack, and the protections taken away."""

import os

import pytest

from holdfast.prove.attack import Attack, Mutant, Order, Profile
from holdfast.prove.attacks import ATTACKS
from holdfast.prove.noticed import mutants
from tests.requirements import requirement

SEED = int(os.environ.get("HOLDFAST_TEST_SEED", "1"))
ELSEWHERE = {"commands", "agents", "process trees", "escapes"}
"""`test_hands.py` strikes the first three at boundaries that it names; the wall has tests of its
own, in `tests/integration/sandbox`."""
STRUCK_MIN = 0.8
"""Some boundaries lie beyond the end of their turn."""


def sayings(said: str) -> None:
    print(said)


@requirement(
    *(
        "S3",
        "S4",
        "S6",
        "S7",
        "S8",
        "M1",
        "M2",
        "M4",
        "R2",
        "R3",
        "R4",
        "R5",
        "R7",
        "R1",
        "X1",
        "D1",
    ),
    *("T03", "T04", "T05", "T06", "T09", "T10", "T11", "T15", "F06", "F28", "F30"),
    *("L01", "L03", "L05", "L07", "L10", "L58", "L64", "L69", "L72", "L116"),
)
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "attack", [each for each in ATTACKS if each.name not in ELSEWHERE], ids=lambda each: each.name
)
async def test_a_promise_holds_under_attack(attack: Attack) -> None:
    count = attack.sizes[Profile.QUICK]
    found = await attack.play(Order(count, SEED, sayings))

    assert found.violations == [], f"seed {SEED}"
    assert found.count >= count * STRUCK_MIN


@requirement("T26", "M4", "R3", "X1")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "mutant",
    [each for each in mutants() if each.attack not in ("commands", "escapes")],
    ids=lambda each: each.name,
)
async def test_a_protection_removed_is_noticed(mutant: Mutant) -> None:
    assert await mutant.notice()


def test_every_mutant_belongs_to_an_attack_that_there_is() -> None:
    names = {attack.name for attack in ATTACKS}
    assert all(set(each.attack.split(" and ")) <= names for each in mutants())
    assert len(mutants()) >= 20


def test_the_full_profile_is_what_we_publish() -> None:
    full = {attack.name: attack.sizes[Profile.FULL] for attack in ATTACKS}
    assert full["kills"] >= 1_000
    assert full["zombies"] >= 1_000
    assert full["database crashes"] >= 200
    assert full["lost answers"] >= 10_000
    assert full["streams"] >= 100_000
