"""The server as production builds it: roles, what it leaves behind, what it refuses."""

import asyncio
import gc
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from holdfast.adapters.postgres.migrate import (
    MigrateOptions,
    SchemaBehind,
    migrate,
    newest_migration,
)
from holdfast.adapters.postgres.pool import NoDatabase, UnsafeDatabase
from holdfast.bootstrap import Adapters, open_server
from holdfast.domain.chat import Status
from holdfast.domain.events import EventType
from holdfast.domain.fence import Fence
from holdfast.domain.ids import ChatId, ClientKey, UserId, VersionStamp
from holdfast.domain.messages import Role
from holdfast.domain.outcome import Answer, Outcome
from holdfast.domain.parts import Text, ToolResult
from holdfast.ports.store import (
    JUST_THE_CHAT,
    Created,
    IdempotencyKey,
    Loaded,
    LoadQuery,
    Stamp,
    Store,
)
from holdfast.settings import WrongSettings, read_settings
from holdfast_lab.chaos.harness.later_schema import LATER, later_migrations
from holdfast_lab.chaos.harness.private_redis import private_redis
from tests.support.builders import user
from tests.support.buses import until
from tests.support.database import on_server, temporary_database
from tests.support.replica import Replicas, ask, at_rest
from tests.support.waits import HANG_S

BUSES = ["postgres", "redis"]


async def texts(adapters: Adapters, chat_id: ChatId) -> list[tuple[Role, str]]:
    page = await adapters.history.page(chat_id, limit=100)
    return [
        (
            message.body.role,
            "".join(part.text for part in message.body.parts if isinstance(part, Text)),
        )
        for message in page.messages
    ]


@pytest.mark.parametrize("bus", BUSES)
async def test_a_message_on_one_replica_is_answered_by_another(cell: Replicas, bus: str) -> None:
    async with private_redis() as redis:
        url = redis.url if bus == "redis" else ""
        async with (
            cell.open(role="api", bus_url=url, bus_prefix="mine") as api,
            cell.open(role="worker", bus_url=url, bus_prefix="mine") as worker,
        ):
            assert (api.worker, worker.hub) == (None, None)
            assert api.hub is not None
            chat = await ask(api, user('[[sim: say "well met"]]'))
            async with asyncio.timeout(HANG_S), api.hub.follow(chat.chat_id, None) as events:
                async for event in events:
                    if event.kind is EventType.MESSAGE_CREATED and b"assistant" in event.data:
                        break
            assert (await at_rest(api, chat.chat_id)).status is Status.IDLE
            assert (await texts(api.adapters, chat.chat_id))[1:] == [(Role.ASSISTANT, "well met")]
            assert worker.metrics.value("holdfast_worker_acquired_total") == 1
            assert worker.metrics.value("holdfast_tasks") == len(asyncio.all_tasks())
            await until(lambda: worker.metrics.value("holdfast_bus_sent_total", kind="part") > 0)
            assert len(await redis.command("KEYS", "mine:*")) == (1 if bus == "redis" else 0)


async def test_a_tool_is_run(cell: Replicas) -> None:
    async with cell.open() as server:
        chat = await ask(server, user("[[sim: call clock {}]]"))
        assert (await at_rest(server, chat.chat_id)).status is Status.IDLE
        page = await server.adapters.history.page(chat.chat_id, limit=100)
        results = [
            part for m in page.messages for part in m.body.parts if isinstance(part, ToolResult)
        ]
        assert len(results) == 1
        assert not results[0].failed


class CountedCommits:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.commits = 0

    async def load(self, chat_id: ChatId, asking: LoadQuery = JUST_THE_CHAT) -> Loaded | None:
        return await self._store.load(chat_id, asking)

    async def create(self, outcome: Outcome, keyed: IdempotencyKey | None = None) -> Stamp | None:
        return await self._store.create(outcome, keyed)

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        return await self._store.find_created(owner_id, key)

    async def keep_receipt(
        self, chat_id: ChatId, keyed: IdempotencyKey, answer: Answer, stamp: VersionStamp
    ) -> bool:
        return await self._store.keep_receipt(chat_id, keyed, answer, stamp)

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: IdempotencyKey | None = None
    ) -> Stamp | None:
        self.commits += 1
        return await self._store.commit(outcome, fence=fence, keyed=keyed)


async def test_a_test_can_stand_between_the_server_and_the_world(cell: Replicas) -> None:
    counted: list[CountedCommits] = []

    def around(adapters: Adapters) -> Adapters:
        counted.append(CountedCommits(adapters.store))
        return replace(adapters, store=counted[0])

    async with cell.open(around) as server:
        assert server.adapters.store is counted[0]
        chat = await ask(server, user('[[sim: say "hi"]]'))
        await at_rest(server, chat.chat_id)
        assert counted[0].commits == 1


async def test_draining_hands_over_in_mid_reply(cell: Replicas) -> None:
    slow = user("[[sim: words=40 | rate=10]]")
    async with cell.open() as first:
        chat = await ask(first, slow)
        await until(lambda: first.metrics.value("holdfast_turn_live_parts_total") > 0)
        async with cell.open() as second:
            first.drain()
            async with asyncio.timeout(HANG_S):
                await first.run()
            assert first.metrics.value("holdfast_worker_chats_driven") == 0
            assert (await at_rest(second, chat.chat_id)).status is Status.IDLE
            assert second.metrics.value("holdfast_worker_acquired_total") == 1


def descriptors() -> list[str]:
    links = Path("/proc/self/fd").iterdir()
    return sorted(str(link.readlink()) for link in links if link.is_symlink())


async def connections(url: str) -> Sequence[Any]:
    connection = await asyncpg.connect(url.rsplit("/", 1)[0] + "/postgres")
    try:
        return await connection.fetch(
            "select application_name, state from pg_stat_activity where datname = $1",
            url.rsplit("/", 1)[1],
        )
    finally:
        await connection.close()


@pytest.mark.parametrize("how", ["drained", "left", "failed", "cancelled"])
async def test_a_server_leaves_nothing_behind(cell: Replicas, how: str) -> None:
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    gc.collect()
    files = len(descriptors())

    async def serve() -> None:
        async with cell.open() as server:
            chat = await ask(server, user('[[sim: say "hi"]]'))
            await at_rest(server, chat.chat_id)
            busy = await ask(server, user("[[sim: fault=hang-before-event]]"))
            assert server.hub is not None
            async with server.hub.follow(busy.chat_id, None) as events:
                await anext(aiter(events))
            if how == "drained":
                server.drain()
                await server.run()
            elif how == "failed":
                raise ZeroDivisionError
            elif how == "cancelled":
                raise asyncio.CancelledError

    if how in ("drained", "left"):
        await serve()
    else:
        with pytest.raises(ZeroDivisionError if how == "failed" else asyncio.CancelledError):
            await serve()
    async with asyncio.timeout(HANG_S):
        while (
            asyncio.all_tasks() - tasks
            or len(descriptors()) > files
            or set(threading.enumerate()) - threads
            or await connections(cell.database_url)
        ):
            gc.collect()
            await asyncio.sleep(0.05)
    assert asyncio.all_tasks() - tasks == set()
    assert len(descriptors()) <= files
    assert set(threading.enumerate()) - threads == set()
    assert await connections(cell.database_url) == []


async def test_an_unmigrated_database_is_refused(cell: Replicas) -> None:
    async with temporary_database() as url:
        with pytest.raises(SchemaBehind, match=r"lacks the migrations 0001-base.*holdfast db mig"):
            async with open_server(cell.settings(database_url=url)):
                raise AssertionError("opened")
        await migrate(url)
        async with open_server(cell.settings(database_url=url)):
            pass


async def test_a_database_of_the_version_before_is_refused(
    cell: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = newest_migration()
    monkeypatch.setattr(f"{migrate.__module__}._migrations", lambda: {ours, LATER})
    with pytest.raises(SchemaBehind) as behind:
        async with open_server(cell.settings()):
            raise AssertionError("opened")
    assert behind.value.missing == (LATER,)


async def test_a_database_of_the_version_after_is_served(cell: Replicas) -> None:
    with later_migrations() as folder:
        await migrate(cell.database_url, MigrateOptions(folder=folder))
    async with open_server(cell.settings()):
        pass


async def test_an_unsafe_database_is_refused(cell: Replicas) -> None:
    name = cell.database_url.rsplit("/", 1)[1]
    await on_server(f'alter database "{name}" set synchronous_commit = off')
    with pytest.raises(UnsafeDatabase):
        async with open_server(cell.settings()):
            raise AssertionError("opened")


@pytest.mark.parametrize(
    "url", ["postgresql://127.0.0.1:1/x", "postgresql://127.0.0.1:5432/no_such_database"]
)
async def test_a_database_that_is_not_there_is_named(cell: Replicas, url: str) -> None:
    with pytest.raises(NoDatabase, match="The database cannot be used"):
        async with open_server(cell.settings(database_url=url)):
            raise AssertionError("opened")


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ({"vendor": "acme"}, r"HOLDFAST_MODELS\[0\] \(m\): no vendor is named 'acme'; there are"),
        ({"vendor": "vllm"}, r"HOLDFAST_MODELS\[0\] \(m\): vllm needs a base_url"),
        ({"vendor": "vertex"}, "vertex needs a plain 'region'"),
        ({"vendor": "ollama", "values": {"set_by": "user"}}, "ollama has no place for set_by"),
        ({"vendor": "ollama", "aws": {"access_key": "k", "secret": "s", "region": "r"}}, "no AWS"),
    ],
)
async def test_a_model_that_cannot_be_asked_is_refused_before_anything_is_opened(
    model: dict[str, Any], sentence: str
) -> None:
    nowhere = "postgresql://127.0.0.1:1/x"
    settings = read_settings(database_url=nowhere, models=[{"name": "m", **model}])
    with pytest.raises(WrongSettings, match=sentence):
        async with open_server(settings):
            raise AssertionError("opened")


async def test_who_drives_needs_a_model_and_who_serves_does_not(cell: Replicas) -> None:
    with pytest.raises(WrongSettings, match="HOLDFAST_MODELS names no model"):
        async with open_server(cell.settings(models=[])):
            raise AssertionError("opened")
    async with cell.open(models=[], role="api") as server:
        assert server.hub is not None
        server.drain()
        async with asyncio.timeout(HANG_S):
            await server.run()
