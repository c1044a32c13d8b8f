"""Readers that never read."""

import os

from holdfast.prove.stage.theatre import theatre
from holdfast.prove.streams.cell import Plan, cell
from holdfast.prove.streams.stalled import measure
from tests.requirements import requirement

SEED = int(os.environ.get("HOLDFAST_TEST_SEED", "1"))
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
