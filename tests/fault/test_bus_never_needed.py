"""The bus may be absent, emptied, paused or restarted: what is stored is the same."""

import time
from contextlib import AsyncExitStack

import pytest

from holdfast.prove.stage.theatre import theatre
from holdfast.prove.streams import needless
from holdfast.prove.streams.cell import Cell, Plan, cell
from holdfast.prove.streams.needless import BACK_S, MARGIN_S, POLL_S, Turn, play
from holdfast.prove.turns.trials import BusKind
from tests.requirements import requirement

SLOWER_MAX = 1.5
"""A turn may take so much longer; the machine is shared, the pace of its words is not."""
ONE_OF_EACH = Plan(seconds=0, seed=1, replicas=0, workers=1)


def check(turn: Turn, usual: Turn) -> None:
    assert turn.bodies == usual.bodies, "parts, roles, endings, call ids, usage"
    assert [m.seq for m in turn.history] == [1, 2, 3, 4, 5, 6]
    assert turn.seen.wrong == []
    assert (turn.seen.missing, turn.seen.doubled, turn.seen.reordered) == (0, 0, 0)
    assert max(turn.delays_s()) <= POLL_S + MARGIN_S
    assert turn.drove_s <= usual.drove_s * SLOWER_MAX + MARGIN_S


def check_live_again(turn: Turn) -> None:
    """The last reply began after the bus was back: it was seen while it was said."""
    assert turn.back_at is not None
    last = turn.seen.first_part_at[6]
    assert (
        last <= max(turn.committed_at[turn.history[4].revision], turn.back_at) + BACK_S + MARGIN_S
    )
    assert last < turn.seen.told_at[6]


@requirement("R1")
@pytest.mark.parametrize("bus", ["postgres", "redis"])
async def test_a_turn_is_stored_the_same_whatever_becomes_of_the_bus(bus: BusKind) -> None:
    async with theatre() as stage, cell(stage, bus, ONE_OF_EACH) as place:
        usual = await play(place, needless.nothing)
        assert [body.role.value for body in usual.bodies] == [
            *("user", "assistant", "tool", "assistant", "tool", "assistant")
        ]
        assert len(usual.seen.first_part_at) == 3, "every reply was seen while it was said"
        for disturb in (needless.emptied, needless.paused, needless.restarted):
            turn = await play(place, disturb)
            check(turn, usual)
            check_live_again(turn)
        await _without(place, usual)


async def _without(place: Cell, usual: Turn) -> None:
    """Absent from the start, for worker and readers; afterwards everything is as before."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(needless.absent(place))
        turn = await play(place, needless.nothing)
        check(turn, usual)
        assert turn.seen.first_part_at == {}, "nothing came over the bus"
    began = time.monotonic()
    turn = await play(place, needless.nothing)
    check(turn, usual)
    assert turn.seen.first_part_at[6] - began <= usual.drove_s * SLOWER_MAX + BACK_S + MARGIN_S
