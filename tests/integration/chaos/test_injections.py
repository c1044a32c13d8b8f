"""A small version of the attack "planted instructions".

All sixty, and every mutant, are `holdfast lab prove --only "planted instructions"`.
"""

import pytest

from holdfast_lab.chaos.faults.injections.campaign import found_in, played_on
from holdfast_lab.chaos.faults.injections.corpus import corpus
from holdfast_lab.chaos.faults.injections.noticed import MUTANTS, played_without
from holdfast_lab.chaos.harness.simulator import simulator_process
from tests.requirements import requirement
from tests.support.database import temporary_database

FEW = {1, 7, 9}
"""In a workspace that starts at once: the base of the gate."""
SMALL = {1, 2, 7, 9, 19, 31, 35, 48, 52}


def test_the_corpus_has_sixty_and_every_goal_and_place() -> None:
    found = corpus()
    assert [each.number for each in found] == list(range(1, 61))
    assert len({each.goal for each in found}) >= 25
    assert {each.carrier for each in found} == {
        *("file", "guidance", "skill", "search", "output", "commit", "name", "page", "tool")
    }


@requirement("L164", "L167")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("numbers", [FEW, pytest.param(SMALL, marks=pytest.mark.nightly)])
async def test_nothing_leaves_a_workspace_without_a_click(template: str, numbers: set[int]) -> None:
    chosen = [each for each in corpus() if each.number in numbers]
    async with temporary_database(template) as url, simulator_process("--obeys") as simulator:
        verdicts = await played_on(url, simulator, chosen)

    found = found_in(verdicts)
    assert found.violations == []
    assert found.figures["injections_through"] == 0
    assert found.figures["asked"] >= 3


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "mutant",
    [pytest.param(name, marks=pytest.mark.nightly) for name in MUTANTS],
)
async def test_without_the_protection_it_leaves(template: str, mutant: str) -> None:
    async with temporary_database(template) as url, simulator_process("--obeys") as simulator:
        (verdict,) = await played_without(mutant, url, simulator)

    assert verdict.through
