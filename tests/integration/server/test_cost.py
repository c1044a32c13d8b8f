"""The cost of watching: statements of a turn, counted on the wire, whoever reads it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.bootstrap import Adapters
from holdfast.ports.bus import Bus, Hint
from holdfast_lab.chaos.stage.private_redis import private_redis
from tests.support.replica import replicas_apart
from tests.support.watch_cost import Cost, measure, watched

TURNS = 5
STATEMENTS_MAX = 5


def is_cheap(cost: Cost) -> bool:
    """Five statements at most; a reader causes none."""
    accepting = Counter({"load_chat": cost.turns, "commit": cost.turns})
    cheap = max(cost.per_turn) <= STATEMENTS_MAX
    return cheap and cost.reads == 0 and not cost.reading and cost.speaking == accepting


@pytest.mark.parametrize("bus", ["redis", "postgres"])
async def test_a_turn_costs_five_statements_however_many_read_it(template: str, bus: str) -> None:
    costs = await measure(template, bus, turns=TURNS)

    assert list(costs) == [0, 1, 50]
    for readers, cost in costs.items():
        assert is_cheap(cost), cost
        # What readers got came all from hints: message, acquiring and step of each turn.
        assert cost.commits == (6 * TURNS if readers else 0), cost
        assert cost.events >= 2 * readers * TURNS * 6, cost
        assert (cost.bus["flush"] > 0) == (bus == "postgres")
        assert set(cost.bus) <= {"flush", "still_there", "slot_to_empty", "listen", "unlisten"}
        # The first after a silence goes at once; else there is one in each tick.
        assert cost.flushes_per_tick <= 1.1, cost


class WithoutCommits:
    """Mutant: hints say that something happened, and not what."""

    def __init__(self, bus: Bus) -> None:
        self.append, self.read_live = bus.append, bus.read_live
        self.subscribe, self.subscribe_work = bus.subscribe, bus.subscribe_work
        self.subscribe_lists = bus.subscribe_lists
        self.counters = bus.counters
        self._bus = bus

    async def publish(self, hints: Sequence[Hint]) -> None:
        await self._bus.publish([replace(hint, inline=b"") for hint in hints])


async def test_mutant_hints_without_their_commit_make_every_replica_read(template: str) -> None:
    def around(adapters: Adapters) -> Adapters:
        return replace(adapters, bus=WithoutCommits(adapters.bus))

    async with (
        private_redis() as redis,
        replicas_apart(template) as cell,
        watched(cell, redis.url, around) as replicas,
    ):
        cost = await replicas.turns(readers=1, turns=2)

    assert not is_cheap(cost)
    assert cost.reads > 0
    assert cost.reading
