"""A worker that ends at any boundary of a compaction leaves all of it, or nothing of it."""

import pytest

from tests.requirements import requirement
from tests.support.struck import SCENES, Scene, strike
from tests.support.world import fake_world


@requirement("L16", "L24", "L25", "L26")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
async def test_a_worker_ends_at_each_boundary_of_a_compaction(scene: Scene) -> None:
    whole = await strike(scene, fake_world(), ends_at=0)
    assert not whole.wrong
    assert whole.boundaries > 10, "hardly a boundary was found"
    for number in range(1, whole.boundaries + 1):
        struck = await strike(scene, fake_world(), number)
        assert not struck.wrong, f"ended at boundary {number}, {struck.ended_at}"
        assert struck.summaries == whole.summaries, "a summary too many, or one too few"
