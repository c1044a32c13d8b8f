"""How many workspaces somebody may have, and what a keeper counts."""

import asyncio
import os
import signal
from dataclasses import replace

import pytest

from holdfast.adapters.postgres.workspaces import ADD
from holdfast.adapters.workspaces.working import WorkspaceCounters
from holdfast.ports.workspaces import TooManyWorkspaces, WorkspaceUnusable
from holdfast.telemetry.metrics import METRICS
from tests.support.workspaces import CALM, QUICK, Yard


async def test_nobody_has_more_than_they_may(yard: Yard) -> None:
    keeper = await yard.keeper(options=replace(CALM, owned_max=2))
    first, second, third = [await yard.chat() for _ in range(3)]
    await keeper.create(first)
    await keeper.create(second)
    await keeper.stop(second.chat_id)

    with pytest.raises(TooManyWorkspaces, match="has 2, as many as one may have"):
        await keeper.create(third)
    # What is there may be used, however many there are.
    assert (await keeper.create(first)).chat_id == first.chat_id
    assert (await keeper.start(second.chat_id)).chat_id == second.chat_id

    await keeper.delete(first.chat_id)
    assert (await keeper.create(third)).chat_id == third.chat_id
    assert keeper.counters.refused == 1


async def test_many_that_ask_for_the_last_one_of_a_chat_all_get_it(yard: Yard) -> None:
    """Whoever comes second finds the limit reached, by the very one that it asks for."""
    keepers = [await yard.keeper(options=replace(CALM, owned_max=1)) for _ in range(2)]
    chat = await yard.chat()
    async with asyncio.timeout(90), asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(keeper.create(chat)) for keeper in keepers for _ in range(5)]
    assert len({each.result().workspace_id for each in asked}) == 1


async def test_without_the_count_there_would_be_more(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant."""
    limited = "held.held < "
    assert limited in ADD.text
    monkeypatch.setattr(
        "holdfast.adapters.postgres.workspaces.ADD",
        replace(ADD, text=ADD.text.replace(limited, "held.held < 9 + ")),
    )
    keeper = await yard.keeper(options=replace(CALM, owned_max=1))
    await keeper.create(await yard.chat())
    await keeper.create(await yard.chat())
    assert len(await yard.rows()) == 2


async def test_each_thing_that_happens_to_a_workspace_is_counted(yard: Yard) -> None:
    took: list[float] = []
    keeper = await yard.keeper(options=replace(QUICK, owned_max=1), ttl_s=3600)
    keeper.observe_starts(took.append)
    counters, chat = keeper.counters, await yard.chat()
    made = await keeper.create(chat)
    assert (counters.starts, counters.under_way, len(took)) == (1, 0, 1)
    (agent,) = yard.agents
    os.kill(agent, signal.SIGKILL)
    await keeper.repair(made)
    assert (counters.repairs, counters.starts) == (1, 2)
    with pytest.raises(TooManyWorkspaces):
        await keeper.create(await yard.chat())
    await yard.pool.execute("update workspaces set stops_at = clock_timestamp()")
    assert await keeper.sweep() == 1
    assert (counters.expired, counters.stops, counters.refused) == (1, 1, 1)
    await keeper.delete(chat.chat_id)
    assert counters.deletions == 1

    broken = await yard.keeper(yard.local(agent=("/bin/false",)), options=QUICK)
    with pytest.raises(WorkspaceUnusable):
        await broken.create(chat)
    assert (broken.counters.starts, broken.counters.starts_failed) == (1, 1)


async def test_a_workspace_of_a_disabled_user_is_stopped_by_the_sweep(yard: Yard) -> None:
    keeper = await yard.keeper(options=QUICK, ttl_s=3600)
    made = await keeper.create(await yard.chat())
    assert await keeper.sweep() == 0
    await yard.pool.execute("update users set stopping_since = now() where id = $1", made.owner_id)
    assert await keeper.sweep() == 1
    assert [row["status"] for row in await yard.rows()] == ["stopped"]


def test_every_count_is_a_metric() -> None:
    counted = {row.field for row in METRICS if row.part == "workspaces"}
    assert counted == set(WorkspaceCounters.__dataclass_fields__)
