"""Run the machine against a store, for so many worker steps or until it finds something."""

import asyncio
import itertools
from collections.abc import Generator
from contextlib import contextmanager

import asyncpg
import hypothesis
import uvloop
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from holdfast.adapters.postgres.migrate import migrate
from holdfast.adapters.postgres.pool import Pool
from tests.model.machine import ChatMachine
from tests.support.builders import ORG, OWNER
from tests.support.database import add_user, temporary_database
from tests.support.world import World, postgres_world

BATCH = 10
"""Examples of a machine with a seed, which are longer than those without: about 600 steps."""


def machine_settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=60,
        deadline=None,
        derandomize=True,  # but for a machine that has a seed
        database=None,
        print_blob=True,
        report_multiple_bugs=False,
        phases=[Phase.generate],
        suppress_health_check=[  # they speak of the machine and of chance
            *(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
            HealthCheck.large_base_example,
        ],
    )


@contextmanager
def on_postgres() -> Generator[tuple[asyncio.Runner, World]]:
    """A world on a real database of its own, and the loop that it lives on."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        database = temporary_database()
        url = runner.run(database.__aenter__())
        runner.run(migrate(url))
        pool = runner.run(_pool(url))
        runner.run(add_user(pool, ORG, OWNER))
        try:
            yield runner, postgres_world(pool)
        finally:
            runner.run(pool.close())
            runner.run(database.__aexit__(None, None, None))


async def _pool(url: str) -> Pool:
    # Orders of events are tested here, not the disk: a commit need not wait for it. Plans, and what
    # is left of a connection, are as the server has them (holdfast.adapters.postgres.pool).
    unsynced = {"synchronous_commit": "off", "jit": "off", "plan_cache_mode": "force_generic_plan"}
    return await asyncpg.create_pool(
        url, min_size=1, max_size=2, reset=_leave_as_is, server_settings=unsynced
    )


async def _leave_as_is(_connection: object) -> None:
    pass


def run_machine(
    runner: asyncio.Runner,
    world: World,
    *,
    shard: int,
    options: settings,
    seed: int | None = None,
) -> int:
    """Worker steps made. A shard has rules and data of its own, by its name or by its seed."""
    machine = type(f"ChatMachine{shard}", (ChatMachine,), {"worker_steps": 0})
    machine.world, machine.loop = world, runner.get_loop()
    if seed is not None:
        machine = hypothesis.seed(seed)(machine)
        options = settings(options, derandomize=False)
    run_state_machine_as_test(machine, settings=options)
    return machine.worker_steps


def run_steps(shard: int, steps_min: int, *, seed: int | None = None) -> int:
    """Run batches of examples until so many worker steps have been made."""
    steps = 0
    with on_postgres() as (runner, world):
        for batch in itertools.count(shard * 1000):
            drawn = None if seed is None else seed * 1_000_000 + batch
            options = machine_settings(50 if seed is None else BATCH)
            steps += run_machine(runner, world, shard=batch, options=options, seed=drawn)
            if steps >= steps_min:
                return steps
    raise AssertionError("itertools.count does not end")
