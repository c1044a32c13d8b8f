"""Workers that die, freeze and leave at every boundary: nothing lost, nothing doubled."""

import os

import pytest

from holdfast.prove.stage.theatre import theatre
from holdfast.prove.turns.campaign import run, tasks_of
from holdfast.prove.turns.trials import play, scene
from tests.requirements import requirement

SEED = int(os.environ.get("HOLDFAST_TEST_SEED", "1"))
TAKEOVER_MAX_S = 12.0
HANDOVER_MAX_S = 1.0


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
        "R4",
        "X1",
        "D1",
        "T03",
        "T04",
        "L72",
        "L116",
    ),
    *("F30", "L69"),
)
@pytest.mark.timeout(300)
async def test_sixty_workers_struck_at_every_boundary_cost_nothing() -> None:
    tasks = tasks_of(SEED, kill=30, freeze=30, term=20)
    async with theatre() as stage:
        campaign = await run(stage, tasks, scenes=10)

    assert not campaign.wrong(), f"seed {SEED}:\n" + "\n".join(campaign.wrong())
    assert campaign.struck("kill") >= 25
    assert campaign.struck("freeze") >= 25
    assert max(campaign.takeovers("kill")) <= TAKEOVER_MAX_S
    assert max(campaign.takeovers("term")) <= HANDOVER_MAX_S
    assert campaign.total("zombie_commits") == 0
    assert campaign.total("once_repeated") == 0


MUTANTS = {
    "no fence": ("freeze", "before commit", 1, "a zombie wrote"),
    "tools re-run blindly": ("kill", "after the effect of record_once", 1, "once ran"),
    "publish before commit": ("kill", "before commit", 1, "the reader's history is not"),
}


@requirement("T26")
@pytest.mark.parametrize("mutant", MUTANTS)
async def test_a_protection_removed_is_noticed(mutant: str) -> None:
    blow, name, boundary, noticed = MUTANTS[mutant]
    async with theatre() as stage, scene(stage, "redis", mutant) as place:
        verdict = await play(place, blow, boundary, wake_at=4, name=name)  # pyright: ignore[reportArgumentType]

    assert verdict.name.startswith(name)
    assert any(noticed in sentence for sentence in verdict.wrong), verdict
