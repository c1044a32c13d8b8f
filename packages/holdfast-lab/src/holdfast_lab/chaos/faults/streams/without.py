"""The bus is emptied, paused, restarted and taken away: what is stored is the same, and no
reader waits longer for it than for the next poll."""

import asyncio
import math
import time
from collections.abc import Iterator
from typing import get_args

from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.streams import needless
from holdfast_lab.chaos.faults.streams.cell import Cell, Plan, cell
from holdfast_lab.chaos.faults.streams.needless import BACK_S, MARGIN_S, POLL_S, Turn, play
from holdfast_lab.chaos.faults.workers.trials import BusKind
from holdfast_lab.chaos.harness.cluster import theatre

SLOWER_MAX = 1.5
"""A turn may take so much longer; the machine is shared, the pace of its words is not."""
ONE_OF_EACH = Plan(seconds=0, seed=1, replicas=0, workers=1)
DISTURBANCES = (needless.emptied, needless.paused, needless.restarted)


async def lose_bus(order: Order) -> Found:
    """Both kinds at once: each mostly waits, for the pace of words and for the next poll."""
    found = Found(0)
    async with asyncio.TaskGroup() as tasks:
        for bus in get_args(BusKind):
            tasks.create_task(_lose(bus, order, found))
    return found


async def _lose(bus: BusKind, order: Order, found: Found) -> None:
    async with theatre() as stage, cell(stage, bus, ONE_OF_EACH) as place:
        for number in range(1, order.count + 1):
            await _once(place, found)
            order.say(f"{bus}: {number} rounds")


async def _once(place: Cell, found: Found) -> None:
    # The first turn writes the cache of the provider: the usage of the turns after it differs.
    await play(place, needless.nothing)
    usual = await play(place, needless.nothing)
    if len(usual.seen.first_part_at) != 3:
        found.violations.append("not every reply was seen while it was said")
    for disturb in DISTURBANCES:
        turn = await play(place, disturb)
        _note(found, disturb.__name__, [*_differences(turn, usual), *_dead(turn)])
    await take_away(place, usual, found)
    began = time.monotonic()
    turn = await play(place, needless.nothing)
    waited_s = turn.seen.first_part_at.get(6, began) - began
    slow = waited_s > usual.drove_s * SLOWER_MAX + BACK_S + MARGIN_S
    late = [f"live again only after {waited_s:.1f} s"] if slow else []
    _note(found, "back again", [*_differences(turn, usual), *late])


async def take_away(place: Cell, usual: Turn, found: Found) -> None:
    async with needless.absent(place):
        turn = await play(place, needless.nothing)
    seen_live = ["something came over a bus that is not there"] if turn.seen.first_part_at else []
    _note(found, "absent", [*_differences(turn, usual), *seen_live])


def _note(found: Found, what: str, sentences: list[str]) -> None:
    found.count += 1
    found.violations += [f"{what}: {sentence}" for sentence in sentences]


def _differences(turn: Turn, usual: Turn) -> Iterator[str]:
    if turn.bodies != usual.bodies:
        yield "parts, roles, endings, call ids or usage are others"
    if [message.seq for message in turn.history] != [1, 2, 3, 4, 5, 6]:
        yield f"messages {[message.seq for message in turn.history]}"
    yield from turn.seen.wrong
    if untold := turn.untold():
        yield f"messages {untold} were never told"
    elif not turn.seen.is_idle:
        yield "the end of the turn was never told"
    if (told := max(turn.delays_s(), default=0.0)) > POLL_S + MARGIN_S:
        yield f"told {told:.1f} s after the commit"
    if turn.drove_s > usual.drove_s * SLOWER_MAX + MARGIN_S:
        yield f"the turn took {turn.drove_s:.1f} s, {usual.drove_s:.1f} s without"


def _dead(turn: Turn) -> Iterator[str]:
    """The last reply began after the bus was back: it must have been seen while it was said."""
    if turn.back_at is None or 6 not in turn.seen.first_part_at:
        yield "the last reply was not seen while it was said"
        return
    due = max(turn.committed_at[turn.history[4].revision], turn.back_at) + BACK_S + MARGIN_S
    first = turn.seen.first_part_at[6]
    if first > due or first >= turn.seen.told_at.get(6, math.inf):
        yield f"live again {first - due:.1f} s too late"
