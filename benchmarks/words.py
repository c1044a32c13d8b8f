"""`python -m benchmarks.words 200`: workers killed after live part N of a turn, for random N.

Whatever N is, what every reader was shown is a prefix of what is stored, and the reply says what
the model was told to say, once (L153). Prints the trials, how many replies were gone on with, and
what was wrong; writes the counts into benchmarks/fleet.json and its page.
"""

import asyncio
import random
import sys
import time

from benchmarks import fleet
from holdfast_lab.chaos.stage.theatre import theatre
from holdfast_lab.chaos.turns.campaign import Campaign
from holdfast_lab.chaos.turns.trials import BusKind, play, scene

SCENES = 8
PARTS = 8
"""About as many as the replies of a trial have; a number beyond the last one strikes no worker."""


async def strike(trials: int, seed: int) -> Campaign:
    """Until so many workers were killed: a number beyond the end of a turn is no trial."""
    chance = random.Random(seed)
    campaign = Campaign()
    under_way = 0

    async with theatre() as stage:

        async def perform(bus: BusKind) -> None:
            nonlocal under_way
            async with scene(stage, bus) as place:
                while campaign.struck("kill") + under_way < trials:
                    number = chance.randint(1, PARTS)
                    under_way += 1
                    verdict = await play(place, "kill", number, name="after append")
                    under_way -= 1
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
        f"{done.struck('kill')} workers killed in {len(done.verdicts['kill'])} turns,"
        f" {done.total('continued')} replies gone on with, {len(done.wrong())} violations,"
        f" takeover at most {longest_s:.1f} s, {time.monotonic() - began_s:.0f} s in all"
    )
    counts = {
        "kill_prefix_trials": done.struck("kill"),
        "kill_prefix_violations": len(done.wrong()),
        "kill_prefix_continued": done.total("continued"),
    }
    fleet.write("words", counts)
    return 1 if done.wrong() else 0


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    sys.exit(main(*(given or [200]), *([1] if len(given) < 2 else [])))
