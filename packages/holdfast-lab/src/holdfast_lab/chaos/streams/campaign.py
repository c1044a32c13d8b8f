"""As many events as were ordered, on both buses, while everything breaks."""

from typing import get_args

from holdfast_lab.chaos.attack import Say
from holdfast_lab.chaos.stage.theatre import theatre
from holdfast_lab.chaos.streams.cell import Plan, Run, Tally, cell
from holdfast_lab.chaos.turns.trials import BusKind

ROUND_S = 16.0
EVENTS_PER_S = 700
"""What 90 readers are told of six chats, on a small machine."""
SHORT_S = 6.0


async def watch_all(events: int, seed: int, say: Say) -> Tally:
    buses = get_args(BusKind)
    seconds = max(SHORT_S, events / len(buses) / EVENTS_PER_S)
    plan = Plan(
        seconds=seconds,
        seed=seed,
        events_min=events // len(buses),
        readers=90,
        joining=30,
        rounds=max(1, round(seconds / ROUND_S)),
    )
    total = Tally()
    for bus in buses:
        async with theatre() as stage, cell(stage, bus, plan) as place:
            tally = await Run(place, plan).play()
        say(f"{bus}: {tally.events} events over {tally.connections} connections")
        total.add(tally)
    return total
