"""`python -m benchmarks.words 200`: workers killed after live part N of a turn, for random N.

Whatever N is, what every reader was shown is a prefix of what is stored, and the reply says what
the model was told to say, once (L153). Prints the trials, how many replies were gone on with, and
what was wrong.
"""

import asyncio
import random
import sys
import time

from holdfast.prove.stage.theatre import theatre
from holdfast.prove.turns.campaign import Campaign
from holdfast.prove.turns.trials import BusKind, play, scene

SCENES = 8
PARTS = 8
"""About as many as the replies of a trial have; a number beyond the last one strikes no worker."""


async def strike(trials: int, seed: int) -> Campaign:
    chance = random.Random(seed)
    numbers = iter([chance.randint(1, PARTS) for _ in range(trials)])
    campaign = Campaign()

    async with theatre() as stage:

        async def perform(bus: BusKind) -> None:
            async with scene(stage, bus) as place:
                for number in numbers:
                    verdict = await play(place, "kill", number, name="after append")
                    campaign.add("kill", verdict)
                    for sentence in verdict.wrong:
                        print(f"part {number}: {sentence}", flush=True)

        async with asyncio.TaskGroup() as group:
            for number in range(min(SCENES, trials)):
                group.create_task(perform("redis" if number % 2 else "postgres"))
    return campaign


def main(trials: int, seed: int) -> int:
    began_s = time.monotonic()
    done = asyncio.run(strike(trials, seed))
    longest_s = max(done.takeovers("kill"), default=0.0)
    print(
        f"{done.struck('kill')} workers killed in {trials} trials,"
        f" {done.total('continued')} replies gone on with, {len(done.wrong())} violations,"
        f" takeover at most {longest_s:.1f} s, {time.monotonic() - began_s:.0f} s in all"
    )
    return 1 if done.wrong() else 0


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    sys.exit(main(*(given or [200]), *([1] if len(given) < 2 else [])))
