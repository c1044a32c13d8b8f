"""A worker that ends at any boundary of a turn with an advisor: one cap, and one refund."""

import pytest

from tests.model.advice import advice_counted_in_memory, failed_advice_costs_a_use
from tests.model.mutants import Mutant
from tests.requirements import requirement
from tests.support.struck_advice import CAP, AdviceTrial, strike_advice
from tests.support.world import fake_world


@requirement("L113")
async def test_a_worker_ends_at_each_boundary_of_a_turn_with_an_advisor() -> None:
    whole = await strike_advice(fake_world(), ends_at=0)
    assert not whole.wrong
    assert whole.boundaries > 30, "hardly a boundary was found"
    assert whole.asked == 1 + CAP, "a call past the cap asks no model"
    in_mid_advice = 0
    for number in range(1, whole.boundaries + 1):
        struck = await strike_advice(fake_world(), number)
        assert not struck.wrong, f"ended at boundary {number}, {struck.ended_at}"
        in_mid_advice += struck.in_mid_advice
    assert in_mid_advice >= 3


@pytest.mark.parametrize("mutant", [advice_counted_in_memory, failed_advice_costs_a_use])
async def test_a_cap_that_is_counted_otherwise_is_seen(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await strike_advice(fake_world(), ends_at=0)
    assert not whole.wrong
    struck: list[AdviceTrial] = []
    for number in range(1, whole.boundaries + 1):
        mutant(monkeypatch)  # anew: each world has the same ids
        struck.append(await strike_advice(fake_world(), number))
        if struck[-1].wrong:
            return
    pytest.fail(f"{mutant.__name__} was seen at none of {len(struck)} boundaries")
