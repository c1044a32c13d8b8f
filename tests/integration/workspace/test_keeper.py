"""One workspace per chat, whoever asks for it and whoever dies meanwhile."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.db.pool import Pool
from holdfast.db.workspaces import PostgresWorkspaces
from holdfast.domain.chat import Chat
from holdfast.domain.errors import ChangedMeanwhile
from holdfast.domain.ids import ChatId
from holdfast.domain.workspaces import Workspace, WorkspaceStatus
from holdfast.ports.workspaces import NoWorkspace, WorkspaceUnusable
from holdfast.workspace import local
from holdfast.workspace.keeper import Keeper
from holdfast_lab.chaos.stage.folders import running_in
from tests.requirements import requirement
from tests.support.wire import tapped
from tests.support.workspaces import QUICK, Yard, counted_agent

ROOT = Path(__file__).resolve().parents[3]
Store = Callable[[Pool], PostgresWorkspaces]


async def until(condition: Callable[[], Any], within_s: float = 60) -> None:
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - processes tell nobody
            await asyncio.sleep(0.02)


async def create_at_once(yard: Yard, store: Store = PostgresWorkspaces) -> list[Workspace]:
    """Ten at each of two replicas."""
    keepers = [await yard.keeper(store=store), await yard.keeper(store=store)]
    chat = await yard.chat()
    async with asyncio.timeout(90), asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(keeper.create(chat)) for keeper in keepers for _ in range(10)]
    return [each.result() for each in asked]


def is_one(yard: Yard, made: list[Workspace]) -> bool:
    return (
        len({each.workspace_id for each in made}) == 1
        and yard.asked.count("start") == 1
        and len(yard.folders) == len(yard.agents) == yard.boots(made[0]) == 1
    )


@requirement("L108")
async def test_twenty_that_create_at_once_on_two_replicas_get_one(yard: Yard) -> None:
    made = await create_at_once(yard)

    assert {each.status for each in made} == {WorkspaceStatus.RUNNING}
    assert is_one(yard, made), (yard.asked, yard.folders, yard.agents)


class LooksFirst(PostgresWorkspaces):
    """Without the index: a look, then an insert."""

    async def add(  # pyright: ignore[reportImplicitOverride]
        self, new: Workspace, *, owned_max: int
    ) -> Workspace | None:
        await self._pool.execute("drop index if exists workspaces_of_chat")
        if await self.of_chat(new.chat_id) is not None:
            return None
        await self._pool.execute(
            "insert into workspaces (id, org_id, owner_id, chat_id, template, status)"
            " values ($1, $2, $3, $4, $5, 'starting')",
            *(new.workspace_id, new.org_id, new.owner_id, new.chat_id, new.template),
        )
        return await self.find(new.workspace_id)


class Meeting:
    """Where two who are about to claim wait for each other, once it is open."""

    def __init__(self) -> None:
        self.is_open = False
        self._arrived = 0
        self._both = asyncio.Event()

    async def attend(self) -> None:
        self._arrived += self.is_open
        if self._arrived > 1:
            self._both.set()
        if self.is_open:
            await self._both.wait()


class AtOnce(PostgresWorkspaces):
    """Nobody claims before somebody else has seen the same."""

    def __init__(self, pool: Pool, meeting: Meeting) -> None:
        super().__init__(pool)
        self._meeting = meeting

    async def claim(  # pyright: ignore[reportImplicitOverride]
        self, seen: Workspace, status: WorkspaceStatus, *, lapse: timedelta
    ) -> Workspace | None:
        await self._meeting.attend()
        return await super().claim(seen, status, lapse=lapse)


class Blind(AtOnce):
    """Without compare-and-set: whatever is there is claimed."""

    async def claim(  # pyright: ignore[reportImplicitOverride]
        self, seen: Workspace, status: WorkspaceStatus, *, lapse: timedelta
    ) -> Workspace | None:
        await self._meeting.attend()
        await self._pool.execute(
            "update workspaces set status = $2, version = version + 1, address = null,"
            " stops_at = null, changed_at = clock_timestamp() where id = $1",
            seen.workspace_id,
            status.value,
        )
        return await self.find(seen.workspace_id)


async def test_without_the_index_there_would_be_several(yard: Yard) -> None:
    assert not is_one(yard, await create_at_once(yard, LooksFirst))


async def start_at_once(yard: Yard, store: Callable[[Pool, Meeting], AtOnce]) -> int:
    """How often one that was stopped is started when twenty ask for it."""
    meeting = Meeting()
    keepers = [await yard.keeper(store=lambda pool: store(pool, meeting)) for _ in range(2)]
    chat = await yard.chat()
    await keepers[0].create(chat)
    await keepers[0].stop(chat.chat_id)
    yard.asked.clear()
    meeting.is_open = True
    async with asyncio.timeout(90), asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(keeper.create(chat)) for keeper in keepers for _ in range(10)]
    assert {each.result().status for each in asked} == {WorkspaceStatus.RUNNING}
    return yard.asked.count("start")


@requirement("L108")
async def test_one_that_is_stopped_is_started_once_and_keeps_its_files(yard: Yard) -> None:
    assert await start_at_once(yard, AtOnce) == 1
    assert len(yard.agents) == 1


async def test_without_compare_and_set_it_would_be_started_twice(yard: Yard) -> None:
    assert await start_at_once(yard, Blind) > 1


@requirement("L108")
async def test_one_that_runs_is_given_and_files_outlive_a_stop(yard: Yard) -> None:
    keeper = await yard.keeper()
    chat = await yard.chat()
    made = await keeper.create(chat)
    (yard.files(made) / "kept").write_text("words")
    assert await keeper.create(chat) == made
    assert yard.asked == ["start"]

    stopped = await keeper.stop(chat.chat_id)
    assert (stopped.status, stopped.address, yard.agents) == (WorkspaceStatus.STOPPED, None, [])
    started = await keeper.start(chat.chat_id)
    assert started.status is WorkspaceStatus.RUNNING
    assert started.version > stopped.version > made.version
    assert (yard.files(started) / "kept").read_text() == "words"


async def test_an_agent_outlives_its_server_and_is_found_again(yard: Yard) -> None:
    chat = await yard.chat()
    made = await (await yard.keeper()).create(chat)
    (agent,) = yard.agents
    await yard.stack.aclose()  # the server is gone
    again = await yard.keeper()
    assert await again.repair(made) == made
    assert (yard.agents, yard.boots(made)) == ([agent], 1)


async def a_dead_starter(yard: Yard, keeper: Keeper) -> Workspace:
    """The row of somebody who began to start it and was never heard of again."""
    chat = await yard.chat()
    made = await keeper.create(chat)
    await keeper.stop(chat.chat_id)
    await yard.pool.execute(
        "update workspaces set status = 'starting', version = version + 1,"
        " changed_at = clock_timestamp() where id = $1",
        made.workspace_id,
    )
    yard.asked.clear()
    return made


async def test_whoever_dies_while_starting_is_taken_over(yard: Yard) -> None:
    keeper = await yard.keeper(options=QUICK)
    made = await a_dead_starter(yard, keeper)
    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(60):
        started = await keeper.start(made.chat_id)
    assert started.status is WorkspaceStatus.RUNNING
    assert asyncio.get_running_loop().time() - began >= QUICK.lapse_s * 0.9, "not before its time"
    assert yard.asked == ["start"]


async def test_a_server_that_is_killed_while_it_starts_one_is_taken_over(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it had started already is found, not started again."""
    monkeypatch.setattr(local, "GRACE_S", 60.0)
    chat = await yard.chat()
    arguments = (yard.url, str(yard.folder), str(chat.chat_id), "4")
    starter = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.starter", *arguments), cwd=ROOT
    )
    await until(lambda: list(yard.folder.glob("*/agent.json")), within_s=90)
    starter.kill()
    await starter.wait()
    await yard.pool.execute("update workspaces set changed_at = changed_at - interval '1 minute'")
    keeper = await yard.keeper()
    async with asyncio.timeout(90):
        taken = await keeper.create(chat)
    assert taken.status is WorkspaceStatus.RUNNING
    assert yard.asked == ["start"]
    assert (len(yard.folders), len(yard.agents), yard.boots(taken)) == (1, 1, 1)


class Silent(PostgresWorkspaces):
    """Without signs of life."""

    async def renew(self, mine: Workspace) -> bool:  # pyright: ignore[reportImplicitOverride]
        return True


async def slow_start(yard: Yard, store: Store, lapse_s: float) -> int:
    """Real time: a start takes longer than the database lets a silent one take."""
    slow = yard.local(agent=counted_agent(lapse_s + 2.0))
    options = replace(QUICK, lapse_s=lapse_s, abandoned_s=lapse_s + 0.5)
    keepers = [await yard.keeper(slow, store=store, options=options) for _ in range(2)]
    chat = await yard.chat()
    async with asyncio.timeout(90), asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(keeper.create(chat)) for keeper in keepers]
    assert len({each.result().workspace_id for each in asked}) == 1
    return yard.asked.count("start")


async def test_whoever_is_slow_and_alive_is_not_taken_over(yard: Yard) -> None:
    assert await slow_start(yard, PostgresWorkspaces, lapse_s=5.0) == 1


async def test_without_signs_of_life_it_would_be(yard: Yard) -> None:
    assert await slow_start(yard, Silent, lapse_s=QUICK.lapse_s) > 1
    assert len(yard.agents) == 1, "the lock in the folder is the second wall"


async def test_a_caller_who_is_interrupted_leaves_it_starting(yard: Yard) -> None:
    gate = yard.folder.with_name("gate")
    begin = f'while [ ! -e {gate} ]; do sleep 0.05; done; exec "$0" -m holdfast_agent "$@"'
    keeper = await yard.keeper(yard.local(agent=("/bin/sh", "-c", begin, sys.executable)))
    chat = await yard.chat()
    caller = asyncio.create_task(keeper.create(chat))
    await until(lambda: yard.asked == ["start"])
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    seen = await keeper.of_chat(chat.chat_id)
    assert seen is not None
    assert seen.status is WorkspaceStatus.STARTING
    gate.touch()
    assert (await keeper.create(chat)).status is WorkspaceStatus.RUNNING
    assert yard.asked == ["start"]


class Looked(PostgresWorkspaces):
    """Who has looked at a chat's workspace."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self.lookers: set[object] = set()

    async def of_chat(  # pyright: ignore[reportImplicitOverride]
        self, chat_id: ChatId
    ) -> Workspace | None:
        self.lookers.add(asyncio.current_task())
        return await super().of_chat(chat_id)


async def test_a_start_that_fails_is_told_to_all_who_wait_and_may_be_tried_again(
    yard: Yard,
) -> None:
    gate = yard.folder.with_name("gate")
    script = f"while [ ! -e {gate} ]; do sleep 0.05; done; echo no luck; exit 1"
    stores: list[Looked] = []

    def looked(pool: Pool) -> Looked:
        stores.append(Looked(pool))
        return stores[-1]

    keeper = await yard.keeper(yard.local(agent=("/bin/sh", "-c", script, "x")), store=looked)
    chat = await yard.chat()
    async with asyncio.timeout(90), asyncio.TaskGroup() as tasks:
        told = [tasks.create_task(refused(keeper, chat)) for _ in range(5)]
        await until(lambda: len(stores[0].lookers) == 5)
        gate.touch()
    assert all("no luck" in each.result() for each in told)
    assert yard.asked == ["start"], "nobody tries again behind the others' backs"
    mended = await yard.keeper()
    assert (await mended.create(chat)).status is WorkspaceStatus.RUNNING


async def refused(keeper: Keeper, chat: Chat) -> str:
    with pytest.raises(WorkspaceUnusable) as why:
        await keeper.create(chat)
    return str(why.value)


async def test_an_agent_that_was_killed_is_started_anew_by_whoever_misses_it(yard: Yard) -> None:
    keepers = [await yard.keeper(), await yard.keeper()]
    made = await keepers[0].create(await yard.chat())
    os.kill(yard.agents[0], signal.SIGKILL)
    async with asyncio.timeout(90), asyncio.TaskGroup() as tasks:
        repaired = [tasks.create_task(keeper.repair(made)) for keeper in keepers for _ in range(4)]
    assert {each.result().version for each in repaired} == {made.version + 2}
    assert (yard.asked.count("start"), len(yard.agents), yard.boots(made)) == (2, 1, 2)


async def test_what_was_stopped_on_purpose_is_not_repaired(yard: Yard) -> None:
    keeper = await yard.keeper()
    made = await keeper.create(await yard.chat())
    await keeper.stop(made.chat_id)
    with pytest.raises(WorkspaceUnusable, match="start_workspace"):
        await keeper.repair(made)
    await keeper.delete(made.chat_id)
    with pytest.raises(NoWorkspace, match="create_workspace"):
        await keeper.repair(made)
    assert yard.agents == []


async def test_deleting_leaves_nothing_and_the_chat_may_have_another(yard: Yard) -> None:
    keeper = await yard.keeper()
    chat = await yard.chat()
    made = await keeper.create(chat)
    with pytest.raises(ChangedMeanwhile):
        await keeper.delete(chat.chat_id, expected={made.version + 1})
    gone = await keeper.delete(chat.chat_id, expected={made.version})
    assert gone.status is WorkspaceStatus.DELETED
    assert (yard.agents, yard.folders, await keeper.of_chat(chat.chat_id)) == ([], [], None)
    assert (await yard.rows())[0]["removed_at"] is not None
    for verb in (keeper.delete, keeper.start, keeper.stop):
        with pytest.raises(NoWorkspace):
            await verb(chat.chat_id)
    assert (await keeper.create(chat)).workspace_id != made.workspace_id


async def test_what_a_dead_server_left_of_a_deleted_one_is_swept_up(yard: Yard) -> None:
    keeper = await yard.keeper()
    made = await keeper.create(await yard.chat())
    await yard.pool.execute(
        "update workspaces set status = 'deleted', version = version + 1, stops_at = null,"
        " changed_at = clock_timestamp()"
    )
    assert await keeper.sweep() == 0, "whoever deletes it may still be at it"
    await yard.pool.execute("update workspaces set changed_at = changed_at - interval '1 minute'")
    assert await keeper.sweep() == 1
    assert (yard.agents, yard.folders, yard.boots(made)) == ([], [], 0)
    assert await keeper.sweep() == 0


async def test_what_a_dead_server_left_half_started_is_stopped(yard: Yard) -> None:
    keeper = await yard.keeper()
    made = await a_dead_starter(yard, keeper)
    await yard.pool.execute("update workspaces set changed_at = changed_at - interval '1 minute'")
    assert await keeper.sweep() == 1
    seen = await keeper.of_chat(made.chat_id)
    assert seen is not None
    assert seen.status is WorkspaceStatus.STOPPED


async def test_of_two_that_sweep_at_once_each_stops_its_own(yard: Yard) -> None:
    keepers = [await yard.keeper(ttl_s=3600), await yard.keeper(ttl_s=3600)]
    chats = [await yard.chat() for _ in range(4)]
    for chat in chats:
        await keepers[0].create(chat)
    await expire(yard)
    yard.asked.clear()
    async with asyncio.TaskGroup() as tasks:
        swept = [tasks.create_task(keeper.sweep()) for keeper in keepers]
    assert sum(each.result() for each in swept) == 4
    assert yard.asked == ["stop"] * 4
    assert yard.agents == []
    assert {row["status"] for row in await yard.rows()} == {"stopped"}


async def expire(yard: Yard) -> None:
    await yard.pool.execute("update workspaces set stops_at = clock_timestamp() - interval '1 s'")


@requirement("L110")
async def test_activity_keeps_a_workspace_alive(yard: Yard) -> None:
    keeper = await yard.keeper(ttl_s=3600)
    chat = await yard.chat()
    made = await keeper.create(chat)
    assert made.stops_at is not None
    await expire(yard)
    await keeper.touch(chat.chat_id)
    assert await keeper.sweep() == 0
    (row,) = await yard.rows()
    assert row["version"] == made.version, "nobody who saw it is disturbed"
    assert row["stops_at"] >= made.stops_at
    await expire(yard)
    assert await keeper.sweep() == 1, "so the touch was needed"


@requirement("L110")
async def test_a_touch_costs_nothing_without_a_workspace_and_one_statement_a_minute_with_one(
    yard: Yard,
) -> None:
    async with tapped(yard.url) as tap:
        yard.url = tap.url
        keeper = await yard.keeper(ttl_s=3600)
        without, chat = await yard.chat(), await yard.chat()
        await keeper.create(chat)
        assert await keeper.of_chat(without.chat_id) is None
        before = tap.statements
        for _ in range(50):
            await keeper.touch(without.chat_id)
        assert tap.statements == before
        for _ in range(50):
            await keeper.touch(chat.chat_id)
        assert tap.statements == before + 1
        await yard.stack.aclose()


async def test_a_life_of_its_own_goes_before_the_templates(yard: Yard) -> None:
    keeper = await yard.keeper(ttl_s=3600)
    made = await keeper.create(await yard.chat(), ttl_s=60)
    assert made.stops_at is not None
    assert made.changed_at is not None
    assert timedelta(seconds=59) < made.stops_at - made.changed_at < timedelta(seconds=61)
    forever = await (await yard.keeper()).create(await yard.chat())
    assert forever.stops_at is None


async def test_who_was_overtaken_and_deleted_leaves_nothing_behind(yard: Yard) -> None:
    """A frozen starter: while it sleeps, others delete the workspace; then it wakes."""
    slow = yard.local(agent=counted_agent(1))
    keeper = await yard.keeper(slow, store=Silent, options=QUICK)
    chat = await yard.chat()
    starting = asyncio.ensure_future(keeper.create(chat))
    await until(lambda: yard.agents)
    (first,) = yard.folders
    await yard.pool.execute(
        "update workspaces set status = 'deleted', version = version + 1, removed_at = now()"
    )
    with pytest.raises((WorkspaceUnusable, NoWorkspace)):
        await (await yard.keeper(slow)).start(chat.chat_id)
    await until(lambda: "delete" in yard.asked)
    # Whoever wakes may begin a new one meanwhile: that is another folder.
    await until(lambda: first not in yard.folders and not running_in(yard.folder / first))
    starting.cancel()
    await asyncio.wait({starting})
    assert first not in yard.folders
    assert len(yard.folders) <= 1, "at most the one of a new workspace"


async def test_a_template_that_is_gone_is_said_so(yard: Yard) -> None:
    keeper = await yard.keeper()
    made = await keeper.create(await yard.chat())
    with pytest.raises(WorkspaceUnusable, match=r"no template 'other'\. Choose one of: local"):
        await keeper.create(await yard.chat(), "other")
    await yard.pool.execute("update workspaces set template = 'old'")
    with pytest.raises(WorkspaceUnusable, match="'old', which is no longer offered"):
        await keeper.stop(made.chat_id)
    assert keeper.token_of(replace(made, template="old")) is None
