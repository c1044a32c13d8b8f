"""Servers and agents die around a running command: done once, known wholly, ended when told."""

import asyncio
import itertools

import pytest

from holdfast_lab.chaos.hands.stopping import (
    TREES,
    Stops,
    edited_while_dead,
    frozen_before_the_start,
    interrupt_tree,
)
from holdfast_lab.chaos.hands.trials import Blow, Verdict, place, play
from holdfast_lab.chaos.stage.theatre import theatre
from tests.requirements import requirement

AROUND = [
    *("before the effect of execute", "before agent start", "after agent start"),
    *("before agent look", "after agent look", "after the effect of execute"),
]
KILLS: list[tuple[Blow, int, str, float]] = [
    *(("kill", 1, name, 0.1) for name in AROUND),
    ("kill", 3, "after agent look", 1.0),  # its successor finds it running
    ("kill", 3, "before commit", 0.1),
    ("kill", 3, "after commit", 0.1),
    ("term", 3, "after agent look", 1.0),
]


def wrong_of(verdicts: list[Verdict]) -> list[str]:
    return [f"{v.blow} at {v.name}: {each}" for v in verdicts for each in v.wrong]


@requirement("X1", "L116", "F17", "L100", "L101")
@pytest.mark.timeout(300)
async def test_a_command_is_done_once_and_known_wholly_wherever_its_server_dies() -> None:
    verdicts: list[Verdict] = []
    trials = iter(KILLS)
    async with theatre() as stage:

        async def perform() -> None:
            async with place(stage, "postgres") as scene:
                for blow, boundary, name, step_s in trials:
                    done = play(scene, blow, boundary, step_s=step_s, name=name)
                    verdicts.append(await done)

        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(perform())
    assert wrong_of(verdicts) == []
    assert len(verdicts) == len(KILLS)
    assert all(verdict.name != "never reached" for verdict in verdicts)


@requirement("X1", "L109")
@pytest.mark.timeout(300)
async def test_a_command_whose_agent_dies_is_done_once_at_most_and_told_of() -> None:
    async with theatre() as stage, place(stage, "postgres") as scene:
        verdicts = [
            await play(scene, "agent", 1, step_s=1.0, name=name)
            for name in ("after agent start", "after agent look")
        ]
    assert wrong_of(verdicts) == []
    assert [verdict.unknown for verdict in verdicts] == [True, True]


@requirement("X2", "L99")
@pytest.mark.timeout(300)
async def test_an_interrupt_leaves_nothing_alive_and_nothing_to_come() -> None:
    stops = Stops()
    async with theatre() as stage, place(stage, "postgres") as scene:
        scene.successor.tell(do="open")
        for tree in TREES:
            await interrupt_tree(scene, tree, stops)
        never = await frozen_before_the_start(scene)
    assert stops.wrong == []
    assert stops.survivors == 0
    assert len(stops.times_s) == len(TREES)
    assert never == []


@requirement("X2")
@pytest.mark.timeout(300)
async def test_an_edit_while_the_owner_is_dead_leaves_nothing_of_its_command() -> None:
    async with theatre() as stage, place(stage, "postgres") as scene:
        left = [await edited_while_dead(scene, tree) for tree in ("plain", "forked twice and deaf")]
    assert left == [[], []]


@requirement("T26")
@pytest.mark.timeout(300)
async def test_a_command_that_an_edit_hid_and_nobody_ends_is_noticed() -> None:
    async with theatre() as stage, place(stage, "postgres", "void calls live on") as scene:
        assert await edited_while_dead(scene, "plain") != []


def test_every_boundary_around_a_command_is_struck_by_name() -> None:
    sides = {f"{side} {what}" for side, what in itertools.product(("before", "after"), WHATS)}
    assert sides <= set(AROUND)


WHATS = ("agent start", "agent look", "the effect of execute")
