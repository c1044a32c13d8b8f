"""`holdfast secrets rotate`, killed: every secret stays readable."""

import random
from pathlib import Path

import pytest

from tests.support.rotation import rotated_under_kills
from tests.support.tiers import set_seed

SIZES = [
    pytest.param(50, 2, id="small"),
    pytest.param(10_000, 50, id="whole", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("rows", "kills"), SIZES)
async def test_no_secret_is_lost_under_kills(
    template: str, tmp_path: Path, rows: int, kills: int
) -> None:
    chance = random.Random(set_seed())
    found = await rotated_under_kills(template, tmp_path, chance, rows=rows, kills=kills)
    print(found)
    assert found.kills == kills
    assert found.runs >= 1
    assert found.unreadable == 0
