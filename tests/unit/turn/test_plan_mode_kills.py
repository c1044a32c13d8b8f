"""A worker that ends at any boundary of a turn that ends with its plan: one plan, and one end."""

import pytest

from tests.model.mutants import Mutant
from tests.model.planning import plan_does_not_end_the_turn, queued_message_has_no_mode
from tests.requirements import requirement
from tests.support.struck_plan import WANTED, strike_plan
from tests.support.world import fake_world


@requirement("F18")
async def test_a_worker_ends_at_each_boundary_of_a_turn_that_ends_with_its_plan() -> None:
    whole = await strike_plan(fake_world(), ends_at=0)
    assert not whole.wrong
    assert whole.asked == len(WANTED) + 1, "the model is not asked about its plan"
    assert whole.boundaries > 30, "hardly a boundary was found"
    for number in range(1, whole.boundaries + 1):
        struck = await strike_plan(fake_world(), number)
        assert not struck.wrong, f"ended at boundary {number}, {struck.ended_at}"
        assert struck.ended_at is not None


@pytest.mark.parametrize("mutant", [plan_does_not_end_the_turn, queued_message_has_no_mode])
async def test_a_turn_that_ends_otherwise_is_seen(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    assert (await strike_plan(fake_world(), ends_at=0)).wrong
