"""Readers that lose their connections, replicas, workers and bus, and nothing else."""

import os

import pytest

from holdfast.prove.stage.theatre import theatre
from holdfast.prove.streams.cell import Plan, Run, cell
from holdfast.prove.streams.stalled import measure
from holdfast.prove.turns.trials import BusKind
from tests.requirements import requirement

SEED = int(os.environ.get("HOLDFAST_TEST_SEED", "1"))
SECONDS = 6.0
EVENTS_MIN = 5_000
"""On either bus."""
STALLED_KB_MAX = 300
QUIET = Plan(
    seconds=0.2,
    seed=SEED,
    readers=6,
    joining=0,
    chats=3,
    replicas=1,
    workers=1,
    rounds=0,
    words=60,
    catch_up_s=4.0,
)


@requirement("R2", "R3", "R7", "T10", "L58")
@pytest.mark.parametrize("bus", ["postgres", "redis"])
async def test_sixty_readers_miss_nothing_while_everything_breaks(bus: BusKind) -> None:
    plan = Plan(seconds=SECONDS, seed=SEED, readers=80, events_min=EVENTS_MIN)
    async with theatre() as stage, cell(stage, bus, plan) as place:
        tally = await Run(place, plan).play()

    print(tally)
    assert tally.wrong == [], f"seed {SEED}"
    assert (tally.missing, tally.doubled, tally.reordered, tally.resets) == (0, 0, 0, 0)
    assert tally.readers >= 60
    assert tally.events >= EVENTS_MIN
    assert tally.parts >= tally.events * 0.5, "it was mostly watched live"


@requirement("R5", "L64", "T11")
async def test_readers_that_never_read_cost_little_and_slow_nobody() -> None:
    async with theatre() as stage, cell(stage, "redis", QUIET) as place:
        alone, crowd = await measure(place)

    print(alone, crowd)
    for cost in (alone, crowd):
        assert cost.wrong == ()
        assert cost.kb_each <= STALLED_KB_MAX
        assert cost.with_s <= cost.without_s * 2 + 2
    assert crowd.kb_each > 16, "the kernel did not take it all"


@requirement("T26", "R3")
async def test_to_subscribe_after_the_snapshot_is_noticed() -> None:
    async with (
        theatre() as stage,
        cell(stage, "redis", QUIET, "subscribe after snapshot") as place,
    ):
        tally = await Run(place, QUIET).play()

    assert tally.missing > 0
