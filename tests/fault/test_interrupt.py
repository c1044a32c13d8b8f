"""Stop means stop, and keeps what anybody saw."""

import asyncio

import pytest

from holdfast.prove.stage.theatre import theatre
from holdfast.prove.turns.interrupts import (
    Sweep,
    interrupt_and_kill,
    interrupt_at_part,
    interrupt_tools,
)
from holdfast.prove.turns.trials import BusKind, scene
from tests.requirements import requirement

PARTS = 40
KILLED_AT_ONCE = 20


@requirement("L01", "L03", "L07", "L10", "M4", "T15", "F06")
@pytest.mark.parametrize("bus", ["postgres", "redis"])
async def test_an_interrupt_at_any_part_keeps_every_byte_that_was_shown(bus: BusKind) -> None:
    sweep = Sweep()
    async with theatre() as stage, scene(stage, bus) as place:
        place.successor.tell(do="open")
        async with asyncio.TaskGroup() as group:
            for number in range(1, PARTS + 1):
                group.create_task(interrupt_at_part(place, number, sweep))
            group.create_task(interrupt_tools(place, sweep))

    assert sweep.wrong == []
    assert sweep.bytes_lost == 0
    assert sweep.chats == PARTS
    assert sweep.bytes_shown > 1_000


@requirement("M4", "L05", "T15", "T03")
@pytest.mark.parametrize("bus", ["postgres", "redis"])
async def test_an_interrupt_together_with_the_death_of_the_owner_keeps_it_too(
    bus: BusKind,
) -> None:
    sweep = Sweep()
    async with theatre() as stage, scene(stage, bus) as place:
        victim = await stage.engage("victim", place.settings)
        await interrupt_and_kill(place, victim, KILLED_AT_ONCE, sweep)

    assert sweep.wrong == []
    assert sweep.bytes_lost == 0
    assert sweep.bytes_shown > 500


@requirement("T26")
async def test_parts_that_live_in_memory_only_are_missed() -> None:
    sweep = Sweep()
    async with theatre() as stage, scene(stage, "redis", "parts only in memory") as place:
        victim = await stage.engage("victim", place.settings)
        await interrupt_and_kill(place, victim, 4, sweep)

    assert sweep.bytes_lost > 0
