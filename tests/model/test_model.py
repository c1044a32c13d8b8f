"""The model test: whatever people, workers, crashes and lost answers do, the invariants hold."""

import asyncio
import os

import pytest

from tests.model.harness import machine_settings, run_machine, run_steps
from tests.requirements import requirement
from tests.support.tiers import set_seed
from tests.support.world import fake_world

SEED = set_seed()
SHARDS = 4
STEPS_MIN = int(os.environ.get("HOLDFAST_MODEL_STEPS", "10000")) // SHARDS


@requirement(
    *("S1", "S2", "S3", "S4", "S5", "S6", "S8", "S9", "S10", "M1", "M2", "M3", "D1", "T02"),
    *("L06", "L07", "L72", "L78"),
)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_order_of_events_breaks_an_invariant(
    shard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = run_steps(shard, STEPS_MIN, seed=SEED)
    with capsys.disabled():
        print(f"\nmodel shard {shard}: {steps} worker steps, 0 violations")
    assert steps >= STEPS_MIN


@requirement("T02")
def test_the_fake_behaves_as_the_real_store_does() -> None:
    with asyncio.Runner() as runner:
        assert run_machine(runner, fake_world(), shard=99, options=machine_settings(100)) > 1000
