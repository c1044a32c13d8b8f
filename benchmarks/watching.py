"""`just bench-watching`: statements of a turn, and reads of those who watch it, on the wire.

Writes its figures into benchmarks/faults.json, beside what the other proofs of turns count there.
"""

import asyncio

from benchmarks.report import write_json
from tests.support.database import migrated_template
from tests.support.watch_cost import Cost, measure

TURNS = 20


async def run() -> dict[str, dict[int, Cost]]:
    async with migrated_template() as template:
        return {bus: await measure(template, bus, turns=TURNS) for bus in ("redis", "postgres")}


def main() -> None:
    costs = asyncio.run(run())
    every = [cost for each in costs.values() for cost in each.values()]
    on_postgres = costs["postgres"].values()
    figures = {
        "statements_per_turn": max(max(cost.per_turn) for cost in every),
        "reads_while_watching": sum(cost.reads + sum(cost.reading.values()) for cost in every),
        "bus_flushes_per_turn": max(round(c.bus["flush"] / c.turns, 1) for c in on_postgres),
        "bus_flushes_per_tick": max(round(c.flushes_per_tick, 2) for c in on_postgres),
    }
    write_json("faults", figures)
    for bus, each in costs.items():
        for readers, cost in each.items():
            print(f"{bus}, {readers} readers on each of two replicas: {cost}")
    print(figures)


if __name__ == "__main__":
    main()
