"""The stream harness at full length: over 100,000 events on both buses while everything breaks.

    python -m benchmarks.faults_stream [--seed N] [--events N]

Writes its figures into benchmarks/faults.json.
"""

import argparse
import asyncio
import sys

from benchmarks.report import write_json
from holdfast_lab.chaos.streams.campaign import watch_all

EVENTS_MIN = 100_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, default=110_000)
    given = parser.parse_args()
    total = asyncio.run(watch_all(given.events, given.seed, print))
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
