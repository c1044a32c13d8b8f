"""Seeds of rough weather over replicas as production builds them, and mutants that they notice."""

import asyncio
import os
import subprocess
import sys
from uuid import UUID

import pytest

from holdfast.domain.ids import ChatId, Version
from holdfast.ports.bus import Episode, LivePart
from scripts.gate.canaries import SIMULATION
from tests.simulation.loop import simulate
from tests.simulation.mutants import MUTANTS, mutated
from tests.simulation.weather import BUS_TIMEOUT_S, Fate
from tests.simulation.world import World, run
from tests.support.tiers import set_seed, with_canary

SEEDS = int(os.environ.get("HOLDFAST_SIMULATION_SEEDS", "200"))
FIRST = int(os.environ.get("HOLDFAST_SIMULATION_FIRST", set_seed()))
"""Every run has other seeds; a failure names its seed."""
BUNCHES = 20
MUTANT_SEEDS_MAX = 500

ONCE_WRONG = {
    550: "a bus that hangs held back what was committed",
    7703: "an answer that stalled was still on its way when the storm was over",
    108286: "a send that stalled in the storm held back the first hint of the calm",
}
"""Seeds that found something. What a seed means changes with the simulation, so each of these has
a test of its own, too (550: tests/unit/stream/test_patience.py; 108286: below)."""


@pytest.mark.parametrize("bunch", range(BUNCHES))
def test_seeds_keep_every_promise(bunch: int) -> None:
    failed = [
        ran for seed in range(FIRST + bunch, FIRST + SEEDS, BUNCHES) if (ran := run(seed)).problems
    ]
    assert not failed, "\n\n".join(str(ran) for ran in failed)


@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_a_seed_that_found_something_finds_nothing_any_more(seed: int) -> None:
    ran = run(seed)
    assert not ran.problems, str(ran)


def test_replica_speaks_only_after_a_send_that_stalled_in_the_storm_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        world = World(0)
        world.weather.stalls = world.weather.bus_faults = 0.0
        async with world.group:
            replica = world.new_replica()
            await asyncio.sleep(0.1)
            assert replica.speaks
            monkeypatch.setattr(world.weather, "fate", lambda: Fate(2 * BUS_TIMEOUT_S))
            await replica.bus.append(
                [LivePart(ChatId(UUID(int=1)), Episode(Version(1), 1), 1, b"")]
            )
            await asyncio.sleep(0.1)
            world.weather.calm = True
            monkeypatch.undo()
            assert not replica.speaks
            await asyncio.sleep(BUS_TIMEOUT_S + 0.1)
            assert replica.speaks
            replica.server.drain()

    simulate(story())


def test_a_seed_replays_identically_in_another_process() -> None:
    """Where things lie in memory, and how strings are hashed, must not matter."""
    script = "from tests.simulation.world import run; print(*(run(s).digest for s in range(3)))"
    told = [
        subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONHASHSEED": hashes},
        ).stdout.split()
        for hashes in ("1", "2")
    ]
    assert told[0] == told[1] == [run(seed).digest for seed in range(3)]


def test_a_seed_does_what_the_simulation_is_for() -> None:
    """Else every promise is kept easily."""
    traces = ["\n".join(run(seed).trace) for seed in range(24)]
    for happens in (
        "crashes",
        "freezes",
        "wakes",
        "cut off",
        "drains",
        "bus: empty",
        "/int",
        "/awa",
        "/fai",
    ):
        assert any(happens in trace for trace in traces), f"no seed {happens}"


@pytest.mark.parametrize("name", with_canary(MUTANTS, SIMULATION))
def test_a_mutant_is_noticed(name: str) -> None:
    with mutated(name):
        caught = next(
            (ran for seed in range(MUTANT_SEEDS_MAX) if (ran := run(seed)).problems), None
        )
    assert caught is not None, f"none of {MUTANT_SEEDS_MAX} seeds noticed: {name}"
