"""The stream harness at full length: over 100,000 events on both buses while everything breaks.

    python -m benchmarks.faults_stream [--seed N] [--seconds S]

Writes its figures into benchmarks/faults.json.
"""

import argparse
import asyncio
import sys
from typing import get_args

from benchmarks.report import write_json
from holdfast.prove.stage.theatre import theatre
from holdfast.prove.streams.cell import Plan, Run, Tally, cell
from holdfast.prove.turns.trials import BusKind

ROUND_S = 16.0
EVENTS_MIN = 100_000


async def run(plan: Plan) -> Tally:
    total = Tally()
    for bus in get_args(BusKind):
        async with theatre() as stage, cell(stage, bus, plan) as place:
            tally = await Run(place, plan).play()
        print(f"{bus}: {tally}")
        total.add(tally)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=80.0, help="on either bus")
    given = parser.parse_args()
    rounds = max(1, round(given.seconds / ROUND_S))
    plan = Plan(seconds=given.seconds, seed=given.seed, readers=90, joining=30, rounds=rounds)
    total = asyncio.run(run(plan))
    write_json(
        "faults",
        {
            "stream_seed": given.seed,
            "stream_events": total.events,
            "stream_connections": total.connections,
            "stream_missing": total.missing,
            "stream_doubled": total.doubled,
            "stream_reordered": total.reordered,
            "stream_resets": total.resets,
        },
    )
    for sentence in total.wrong:
        print(sentence)
    return 0 if not total.wrong and not total.resets and total.events >= EVENTS_MIN else 1


if __name__ == "__main__":
    sys.exit(main())
