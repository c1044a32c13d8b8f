"""What one person may ask at once: statements, lists, chats and streams; and nobody else waits."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import asyncpg
import orjson
import pytest

from holdfast.adapters.postgres import shares
from tests.requirements import requirement
from tests.support.replica import Replicas
from tests.support.waits import HANG_S
from tests.support.web import OUR_ORIGIN, Answer, Cell, Client, uuid_of
from tests.support.web import a_cell as any_cell

BLOCKED = """
    select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
"""

ANSWERED = "select last_seq from chats where id = $1"


def a_cell(replicas: Replicas, **bounds: Any) -> AbstractAsyncContextManager[Cell]:
    return any_cell(replicas, origins=OUR_ORIGIN, **bounds)


@asynccontextmanager
async def nothing_shared_is_read(cell: Cell) -> AsyncGenerator["asyncpg.Connection[Any]"]:
    """Lists of what is shared wait, and only those: a slow statement of whoever asks for one."""
    connection = await asyncpg.connect(cell.replicas.database_url)
    watching = await asyncpg.connect(cell.replicas.database_url)
    try:
        async with connection.transaction():
            await connection.execute("lock table chat_shares in access exclusive mode")
            yield watching
    finally:
        await connection.close()
        await watching.close()


async def until_blocked(watching: "asyncpg.Connection[Any]", statements: int) -> None:
    async with asyncio.timeout(HANG_S):
        while await watching.fetchval(BLOCKED) < statements:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def value(cell: Cell, name: str, **labels: str) -> float:
    return cell.served[0].server.metrics.value(name, **labels)


def is_problem(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.code) == (status, code), answer.raw


async def test_slow_statements_of_one_keep_nobody_else_waiting(empty: Replicas) -> None:
    async with a_cell(empty, list_s=30, database_command_timeout_s=30) as cell:
        bob = await cell.member("Bob")
        async with asyncio.TaskGroup() as tasks, nothing_shared_is_read(cell) as watching:
            flood = [tasks.create_task(bob.get("chats")) for _ in range(40)]
            await until_blocked(watching, 3)
            # All of them have asked: what is not in the database waits before it.
            async with asyncio.timeout(HANG_S):
                while value(cell, "holdfast_statements_waiting") < 37:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            mine = await cell.admin.get("chats?owner=me")
            chat_id = await cell.admin.new_chat("hello")
            async with asyncio.timeout(HANG_S):
                while await watching.fetchval(ANSWERED, uuid_of(chat_id)) < 2:
                    assert await watching.fetchval(BLOCKED) <= 3
                    await asyncio.sleep(0.02)
            assert mine.status == 200
        assert {task.result().status for task in flood} <= {200, 503}
        assert value(cell, "holdfast_statements_waiting") == 0
        assert (await bob.get("chats")).status == 200


async def test_a_line_that_is_too_long_is_answered_at_once(
    empty: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shares.Shares.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(shares.Shares.__init__.__kwdefaults__, "waiting_max", 2)
    async with a_cell(empty, list_s=30, statements_per_user_max=1) as cell:
        bob = await cell.member("Bob")
        async with asyncio.TaskGroup() as tasks, nothing_shared_is_read(cell) as watching:
            waiting = [tasks.create_task(bob.get("chats")) for _ in range(3)]
            await until_blocked(watching, 1)
            async with asyncio.timeout(HANG_S):
                while value(cell, "holdfast_statements_waiting") < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            refused = await bob.get("chats")
            is_problem(refused, 429, "too_many_statements")
            assert int(refused.headers["retry-after"]) >= 1
            assert (await cell.admin.get("chats?owner=me")).status == 200
        assert {task.result().status for task in waiting} <= {200, 503}
        assert value(cell, "holdfast_statements_refused_total") == 1


async def test_a_list_that_takes_too_long_is_a_problem_that_says_so(empty: Replicas) -> None:
    async with a_cell(empty, list_s=0.2) as cell:
        async with nothing_shared_is_read(cell):
            slow = await cell.admin.get("chats?q=nowhere")
            is_problem(slow, 503, "list_too_slow")
            assert (
                slow.json["detail"]
                == "The list was not read within 0.2 s. Ask for less, or filter by less."
            )
        assert value(cell, "holdfast_lists_too_slow_total") == 1
        assert (await cell.admin.get("chats?q=nowhere")).json == {"data": [], "next_cursor": None}


async def test_a_chat_too_many_is_refused_and_a_repeat_is_not(empty: Replicas) -> None:
    async with a_cell(empty, chats_per_user_max=2) as cell:
        admin, bob = cell.admin, await cell.member("Bob")
        first = await admin.post("chats", {}, idempotency_key="one")
        message = {"message": {"text": "hello"}}
        assert (await admin.post("chats", message)).status == 201
        chat_id = first.json["chat_id"]
        for refused in (
            await admin.post("chats", {}),
            await admin.post("chats", message),
            await admin.post("chats", {}, idempotency_key="two"),
            await admin.post(f"chats/{chat_id}/fork", {}),
        ):
            is_problem(refused, 409, "too_many_chats")
            assert "at most 2 chats" in refused.json["detail"]
        again = await admin.post("chats", {}, idempotency_key="one")
        assert (again.status, again.json["chat_id"]) == (first.status, chat_id)
        assert (await admin.post(f"chats/{chat_id}/messages", {"text": "more"})).status < 300
        await bob.new_chat()
        assert len((await admin.get("chats")).json["data"]) == 2
        assert value(cell, "holdfast_chats_refused_total") == 4
        assert value(cell, "holdfast_worker_taken_in_doubt_total") == 0


async def test_bytes_too_many_are_refused_and_a_repeat_is_not(empty: Replicas) -> None:
    async with a_cell(empty, bytes_per_user_max=3_000) as cell:
        admin, bob = cell.admin, await cell.member("Bob")
        message = {"text": "x" * 2_000}
        first = await admin.post("chats", {"message": message}, idempotency_key="one")
        chat_id = first.json["chat_id"]
        for refused in (
            await admin.post("chats", {"message": message}),
            await admin.post(f"chats/{chat_id}/messages", message),
            await admin.post(f"chats/{chat_id}/messages", message, idempotency_key="two"),
            await admin.post(f"chats/{chat_id}/fork", {}),
        ):
            is_problem(refused, 409, "too_many_bytes")
            assert "at most 3000 bytes" in refused.json["detail"]
        again = await admin.post("chats", {"message": message}, idempotency_key="one")
        assert (again.status, again.json["chat_id"]) == (first.status, chat_id)
        assert (await admin.post("chats", {})).status == 201
        assert (await bob.post("chats", {"message": message})).status == 201
        assert value(cell, "holdfast_storage_refused_total") == 4
        assert value(cell, "holdfast_worker_taken_in_doubt_total") == 0


# Streams.


async def heard(events: AsyncIterator[dict[str, Any]]) -> list[str]:
    """The kinds of all events, until the stream ends."""
    kinds: list[str] = []
    async with asyncio.timeout(HANG_S):
        async for event in events:
            kinds.append(event["type"])
            if event["type"] == "closed":
                data = {"reason": "too_many_streams", "retry_after_seconds": 60}
                assert event["data"] == data
    return kinds


async def begun(events: AsyncIterator[dict[str, Any]]) -> None:
    async with asyncio.timeout(HANG_S):
        await anext(events)


@requirement("L142")
async def test_a_further_stream_ends_the_oldest_of_the_same_person(empty: Replicas) -> None:
    async with a_cell(empty, streams_per_user_max=3) as cell, AsyncExitStack() as stack:
        bob = await cell.member("Bob")
        chats = [await cell.admin.new_chat() for _ in range(3)]
        his = await stack.enter_async_context(bob.watch())
        await begun(his)
        mine = [await stack.enter_async_context(cell.admin.stream(each)) for each in chats]
        for events in mine:
            await begun(events)
        await stack.enter_async_context(cell.admin.watch())
        assert (await heard(mine[0]))[-1] == "closed"
        await cell.admin.post(f"chats/{chats[1]}/messages", {"text": "hello"})
        async with asyncio.timeout(HANG_S):
            async for event in mine[1]:
                if event["type"] == "message.created":
                    break
        assert value(cell, "holdfast_streams_ended_total") == 1
        assert value(cell, "holdfast_streams_open") == 4
    # All have gone.


@requirement("L142")
@pytest.mark.parametrize("followed", ["chats/{}/events", "events"])
async def test_a_socket_is_ended_with_a_reason(empty: Replicas, followed: str) -> None:
    async with a_cell(empty, streams_per_chat_max=1) as cell:
        admin = cell.admin
        url = f"{admin.url}/api/v1/{followed.format(await admin.new_chat())}"
        async with admin.http.ws_connect(url, headers=admin.headers) as first:
            assert (await first.receive(HANG_S)).type is aiohttp.WSMsgType.TEXT
            async with admin.http.ws_connect(url, headers=admin.headers) as second:
                assert (await second.receive(HANG_S)).type is aiohttp.WSMsgType.TEXT
                last: dict[str, Any] = {}
                while (message := await first.receive(HANG_S)).type is aiohttp.WSMsgType.TEXT:
                    last = orjson.loads(message.data)
                data = {"reason": "too_many_streams", "retry_after_seconds": 60}
                assert (last["type"], last["data"]) == ("closed", data)
                assert first.close_code == 4429
                assert not second.closed
        assert value(cell, "holdfast_streams_ended_total") == 1
        await none_is_open(cell)


@requirement("L142")
async def test_streams_that_never_read_are_ended_too(empty: Replicas) -> None:
    """Their last words wait for nobody."""
    async with a_cell(empty, streams_per_chat_max=2) as cell, AsyncExitStack() as stack:
        chat_id = await cell.admin.new_chat()
        opened = [await unread(cell.admin, chat_id, stack) for _ in range(10)]
        assert len(opened) == 10
        assert value(cell, "holdfast_streams_open") == 2
        assert value(cell, "holdfast_streams_ended_total") == 8
        async with asyncio.timeout(HANG_S):
            while value(cell, "holdfast_stream_readers") > 2:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def unread(who: Client, chat_id: str, stack: AsyncExitStack) -> aiohttp.ClientResponse:
    url = f"{who.url}/api/v1/chats/{chat_id}/events"
    return await stack.enter_async_context(who.http.get(url, headers=who.headers))


async def none_is_open(cell: Cell) -> None:
    async with asyncio.timeout(HANG_S):
        while value(cell, "holdfast_streams_open"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_what_was_refused_ends_nobody(empty: Replicas) -> None:
    async with a_cell(empty, streams_per_user_max=1) as cell:
        chat_id = await cell.admin.new_chat()
        async with cell.admin.stream(chat_id) as events:
            await begun(events)
            unknown = "chat_00000000000070008000000000000000"
            assert (await cell.admin.get(f"chats/{unknown}/events")).status == 404
            assert value(cell, "holdfast_streams_ended_total") == 0
        await none_is_open(cell)
